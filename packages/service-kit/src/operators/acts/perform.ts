import { isDeepStrictEqual } from 'node:util'
import type { RawQueries } from '@open-payments-server/database'
import type { MethodDefinition, UnaryHandler } from '@open-payments-server/grpc-transport'
import type { OperatorContext } from '../admission.js'
import type { Actor } from '../operator.js'
import type { Act, PersonName, Subject } from './act.js'
import { lockActs, type NewAction } from './action-store.js'
import { heldText, plain, type RequestForm, requestText } from './plain.js'
import { changedSince, malformedOf, ownMatter, problemOf } from './refusals.js'

/** A call of an operator that changes something. */
export interface Order<Request extends object, Response, Dependencies> {
  readonly method: MethodDefinition<Request, Response>
  readonly act: Act<Request, Response, Dependencies>
  readonly rpc: (dependencies: Dependencies) => UnaryHandler<Request, Response>
  readonly request: Request
  readonly context: OperatorContext
  /** The second person, and the subject as they were shown it (JSON text); undefined unless one approves it. */
  readonly approval?: { readonly by: Actor; readonly before: string | undefined } | undefined
}

/** What an act was seen to do. */
export interface Seen {
  readonly subject: Subject
  /** JSON text. */
  readonly before: string | undefined
  readonly after: string | undefined
  readonly outcome: 'done' | 'unchanged'
}

/** An attempt at an act, in a transaction. */
export interface Attempt<Transaction, Dependencies> {
  readonly transaction: Transaction
  readonly dependencies: Dependencies
  /** Whether it said that it was so already. */
  readonly isUnchanged: () => boolean
}

/** Does it in a transaction, while other acts on the same subject wait, and looks what it changed. */
export async function perform<Request extends object, Response, Dependencies>(
  order: Order<Request, Response, Dependencies>,
  { transaction, dependencies, isUnchanged }: Attempt<RawQueries, Dependencies>
): Promise<{ readonly response: Response; readonly seen: Seen }> {
  const { act, request, context, rpc } = order
  const { kind, name } = act.subject(request, undefined, dependencies)
  await lockActs(transaction, `${kind} ${name}`)
  const before = await look(act, request, dependencies)
  await assertNotOwn(order, dependencies)
  assertAsProposed(order, before)
  const response = await rpc(dependencies)(request, context)
  const seen = await see(order, response, before, dependencies)
  return { response, seen: isUnchanged() ? { ...seen, outcome: 'unchanged' } : seen }
}

/** @throws RpcError PERMISSION_DENIED for whoever would order or approve what is their own matter */
export async function assertNotOwn<Request extends object, Response, Dependencies>(
  { act, request, context, approval }: Order<Request, Response, Dependencies>,
  dependencies: Dependencies
): Promise<void> {
  if (act.ownMatter === undefined) return
  const approver = approval?.by
  const { field, people: findPeople } = act.ownMatter
  const asking = [context.actor, ...(approver === undefined ? [] : [approver])].flatMap(namesOf)
  const people = (await unlessRefused(() => findPeople(request, dependencies, asking))) ?? []
  const isOwn = (actor: Actor): boolean =>
    namesOf(actor).some((name) =>
      people.some(({ issuer, sub }) => name.issuer === issuer && name.sub === sub)
    )
  if (isOwn(context.actor)) throw ownMatter(field)
  if (approver !== undefined && isOwn(approver)) throw ownMatter('proposal_id')
}

/** @throws RpcError FAILED_PRECONDITION where it would replace something else than its second person was shown */
function assertAsProposed<Request extends object, Response, Dependencies>(
  { act, request, approval }: Order<Request, Response, Dependencies>,
  before: string | undefined
): void {
  if (approval === undefined) return
  const changed = changedMembers(act.replaces?.(request) ?? [], approval.before, before)
  if (changed.length > 0) throw changedSince(changed)
}

/** Those of some members of a subject that differ between two looks at it (JSON text). */
export function changedMembers(
  members: readonly string[],
  ...looks: readonly [string | undefined, string | undefined]
): readonly string[] {
  const [one, other] = looks.map(membersOf)
  return members.filter((name) => !isDeepStrictEqual(one?.[name], other?.[name]))
}

/** The members of a subject as it was looked at (JSON text); undefined where there is none. */
export function membersOf(look: string | undefined): Readonly<Record<string, unknown>> | undefined {
  const found: unknown = look === undefined ? undefined : JSON.parse(look)
  return typeof found === 'object' && found !== null ? { ...found } : undefined
}

/** All names by which somebody may hold an account; none of a machine. */
function namesOf({ person }: Actor): readonly PersonName[] {
  if (person === undefined) return []
  const { issuer, sub, tokenSub = sub } = person
  return [...new Set([sub, tokenSub])].map((each) => ({ issuer, sub: each }))
}

/** Looks what an act changed that counts as done. */
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
  return {
    subject: heldSubject(act.subject(request, response, dependencies)),
    before,
    after,
    outcome: 'done'
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
  const found = await unlessRefused(() => act.look?.(request, dependencies))
  return found === undefined ? undefined : JSON.stringify(plain(found))
}

/** What is found; undefined for what is not there, or malformed: the call itself refuses that. */
async function unlessRefused<Found>(find: () => Promise<Found> | undefined): Promise<Found | undefined> {
  try {
    return await find()
  } catch (error) {
    if (problemOf(error) === undefined && malformedOf(error) === undefined) throw error
    return undefined
  }
}

/** What is recorded of a request. */
export function describeRequest<Request extends object, Response, Dependencies>(
  order: Order<Request, Response, Dependencies>
): Pick<NewAction, 'request' | 'reason'> {
  const { request } = order
  const reason: unknown = 'reason' in request ? request.reason : ''
  return {
    request: requestText(request, formOf(order)),
    reason: typeof reason === 'string' ? heldText(reason) : ''
  }
}

/** How requests of an act are written down. */
export function formOf<Request extends object, Response, Dependencies>({
  method,
  act
}: Pick<Order<Request, Response, Dependencies>, 'method' | 'act'>): RequestForm {
  const { secrets, enumerations } = act
  return { secrets, enumerations, blank: method.requestDeserialize(Buffer.alloc(0)) }
}

/** A subject as it is recorded. */
export function heldSubject({ kind, name }: Subject): Subject {
  return { kind, name: heldText(name) }
}
