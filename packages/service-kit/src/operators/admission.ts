import {
  type CallContext,
  type Handlers,
  RpcError,
  type ServiceDefinition,
  status,
  type UnaryContext,
  type UnaryMethod
} from '@open-payments-server/grpc-transport'
import type { Logger } from '@open-payments-server/runtime'
import { type Actor, actorOf, mayCall, type Operator, type Role, type RolesOf } from './operator.js'
import { OPERATOR_TOKEN_KEY, unauthenticated, type VerifyOperatorToken } from './operator-tokens.js'
import type { RolesOfMachine } from './settings.js'

/** What knowing who operates needs. */
export interface Operators {
  readonly verifyToken: VerifyOperatorToken
  readonly rolesOfMachine: RolesOfMachine
}

/** Who may call the methods of one service. */
export interface OperatedService<Definition extends ServiceDefinition> {
  readonly definition: Definition
  /** The role that each method needs. */
  readonly roles: RolesOf<Definition>
  /**
   * Names of further clients that the service's list of clients admits to methods that read: they may read without a token
   * and without OPERATOR_MACHINES.
   */
  readonly readers?: readonly string[] | undefined
}

/** Information about the call of an operator. */
export interface OperatorContext extends UnaryContext {
  /** Who operates. */
  readonly actor: Actor
  /** The role that the call needed. */
  readonly role: Role
  /** All roles of whoever operates. */
  readonly roles: ReadonlySet<Role>
}

/** Turns plain functions into handlers that know who operates. */
export interface OperatorHandlers {
  /** See {@link Handlers}. */
  unary<Request, Response>(
    handler: (request: Request, context: OperatorContext) => Promise<Response>
  ): UnaryMethod<Request, Response>
  /** See {@link Handlers}. */
  readonly serverStreaming: Handlers['serverStreaming']
}

/**
 * Handlers that first find out who calls, and refuse whoever does not have the role of the method: UNAUTHENTICATED for a token
 * that does not count, PERMISSION_DENIED for a missing role. With a token the person counts, and not the machine that passes it
 * on. What they wrap then finds the person in place of the machine in `clientNames`.
 */
export function admitOperators<Definition extends ServiceDefinition>(
  handlers: Handlers,
  service: OperatedService<Definition>,
  dependencies: Operators & { readonly logger: Logger }
): OperatorHandlers {
  const roleOf = rolesByPath(service)
  const admit = async (context: CallContext): Promise<Admitted> => {
    const operator = await identify(context, service.readers ?? [], dependencies)
    const needed = roleOf.get(context.method)
    if (needed !== undefined && mayCall(operator.roles, needed)) return { operator, role: needed }
    dependencies.logger.warn(
      { method: context.method, operator: operator.names, needed },
      'call refused: not this role'
    )
    throw new RpcError({
      code: status.PERMISSION_DENIED,
      message: `This call needs the role ${needed ?? 'of nobody'}, which the ${
        context.metadata.get(OPERATOR_TOKEN_KEY).length > 0 ? 'operator' : 'machine'
      } does not have`
    })
  }
  return {
    unary: (handler) =>
      handlers.unary(async (request, context) => handler(request, actingAs(context, await admit(context)))),
    serverStreaming: (handler) =>
      handlers.serverStreaming(async (request, stream, context) => {
        await admit(context)
        await handler(request, stream, context)
      })
  }
}

interface Admitted {
  readonly operator: Operator
  readonly role: Role
}

function rolesByPath<Definition extends ServiceDefinition>({
  definition,
  roles
}: OperatedService<Definition>): ReadonlyMap<string, Role> {
  const methods = Object.entries(definition) as [keyof Definition, Definition[keyof Definition]][]
  return new Map(methods.map(([name, { path }]) => [path, roles[name]]))
}

async function identify(
  { metadata, clientNames }: CallContext,
  readers: readonly string[],
  { verifyToken, rolesOfMachine }: Operators
): Promise<Operator> {
  const [token, ...others] = metadata.get(OPERATOR_TOKEN_KEY)
  if (token === undefined) {
    const roles = rolesOfMachine(clientNames)
    const isReader = clientNames.some((name) => readers.includes(name))
    return { names: clientNames, roles: isReader ? new Set<Role>([...roles, 'viewer']) : roles }
  }
  if (others.length > 0 || typeof token !== 'string') throw unauthenticated('must be one text')
  return verifyToken(token)
}

/** The context of a call with who operates. What is computed on demand stays so. */
function actingAs(context: UnaryContext, { operator, role }: Admitted): OperatorContext {
  const { metadata, peer, deadline, method } = context
  return {
    metadata,
    peer,
    deadline,
    method,
    clientNames: operator.names,
    actor: actorOf(operator),
    role,
    roles: operator.roles,
    get signal() {
      return context.signal
    }
  }
}
