import type { RawQueries } from '@open-payments-server/database'
import type { MethodDefinition, UnaryHandler } from '@open-payments-server/grpc-transport'
import type { OperatorContext } from '../admission.js'
import type { Act, Subject } from './act.js'
import { lockActs, type NewAction } from './action-store.js'
import { heldText, plain, requestText } from './plain.js'
import { malformedOf, problemOf } from './refusals.js'

/** A call of an operator that changes something. */
export interface Order<Request extends object, Response, Dependencies> {
  readonly method: MethodDefinition<Request, Response>
  readonly act: Act<Request, Response, Dependencies>
  readonly rpc: (dependencies: Dependencies) => UnaryHandler<Request, Response>
  readonly request: Request
  readonly context: OperatorContext
}

/** What an act was seen to do. */
export interface Seen {
  readonly subject: Subject
  /** JSON text. */
  readonly before: string | undefined
  readonly after: string | undefined
  readonly outcome: 'done' | 'unchanged'
}

/** Does it in a transaction, while other acts on the same subject wait, and looks what it changed. */
export async function perform<Request extends object, Response, Dependencies>(
  order: Order<Request, Response, Dependencies>,
  dependencies: Dependencies,
  transaction: RawQueries
): Promise<{ readonly response: Response; readonly seen: Seen }> {
  const { act, request, context, rpc } = order
  const { kind, name } = act.subject(request, undefined)
  await lockActs(transaction, `${kind} ${name}`)
  const before = await look(act, request, dependencies)
  const response = await rpc(dependencies)(request, context)
  return { response, seen: await see(order, response, before, dependencies) }
}

/** Looks what an act changed. */
export async function see<Request extends object, Response, Dependencies>(
  { act, request }: Order<Request, Response, Dependencies>,
  response: Response,
  before: string | undefined,
  dependencies: Dependencies
): Promise<Seen> {
  const after =
    act.made === undefined
      ? await look(act, request, dependencies)
      : JSON.stringify(plain(act.made(response)))
  const isSame = act.look !== undefined && before === after
  return {
    subject: heldSubject(act.subject(request, response)),
    before,
    after,
    outcome: isSame ? 'unchanged' : 'done'
  }
}

/**
 * The subject of an act as it is now.
 *
 * @returns JSON text; undefined where nothing is there, or the request names nothing that could be
 */
export async function look<Request extends object, Response, Dependencies>(
  act: Act<Request, Response, Dependencies>,
  request: Request,
  dependencies: Dependencies
): Promise<string | undefined> {
  try {
    const found = await act.look?.(request, dependencies)
    return found === undefined ? undefined : JSON.stringify(plain(found))
  } catch (error) {
    if (problemOf(error) === undefined && malformedOf(error) === undefined) throw error
    return undefined
  }
}

/** What is recorded of a request. */
export function describeRequest<Request extends object, Response, Dependencies>({
  act,
  request
}: Order<Request, Response, Dependencies>): Pick<NewAction, 'request' | 'reason'> {
  const reason: unknown = 'reason' in request ? request.reason : ''
  return { request: requestText(request, act), reason: typeof reason === 'string' ? heldText(reason) : '' }
}

/** A subject as it is recorded. */
export function heldSubject({ kind, name }: Subject): Subject {
  return { kind, name: heldText(name) }
}
