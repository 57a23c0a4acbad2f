import {
  type ServerInterceptingCallInterface,
  ServerInterceptingCall,
  type ServerInterceptor,
  type ServiceDefinition,
  status
} from '@grpc/grpc-js'
import type { Logger } from '@open-payments-server/runtime'

/**
 * Who may call a service, by the names in clients' certificates: whole URIs and DNS names of the subject alternative name.
 * A common name does not count: authorities do not vouch for it in the same way.
 */
export interface AllowedClients {
  /** May call every method. */
  readonly everyMethod: readonly string[]
  /** May also call one method, by its name in the contract. */
  readonly furtherOf?: Readonly<Record<string, readonly string[]>>
}

/** A service whose methods only some clients may call. */
interface GuardedService {
  readonly definition: ServiceDefinition
  readonly clients?: AllowedClients | undefined
}

/**
 * Refuses unauthorized calls before their handler runs and their message is read: with PERMISSION_DENIED, and a line in the
 * log. A service that names no clients may be called by none. Methods of other services are not affected.
 */
export function allowClients(services: readonly GuardedService[], logger: Logger): ServerInterceptor {
  const allowed = new Map(services.flatMap(methodsOf))
  return ({ path }, call) => {
    const names = allowed.get(path)
    if (names === undefined) return new ServerInterceptingCall(call)
    const clientNames = namesOf(call)
    if (clientNames.some((name) => names.has(name))) return new ServerInterceptingCall(call)
    return new ServerInterceptingCall(call, {
      start() {
        logger.warn({ method: path, clientNames, peer: call.getPeer() }, 'call refused: not for this client')
        call.sendStatus({
          code: status.PERMISSION_DENIED,
          details: "The client's certificate does not allow this call"
        })
      }
    })
  }
}

function methodsOf({ definition, clients }: GuardedService): [path: string, names: ReadonlySet<string>][] {
  return Object.values(definition).map(({ path }) => {
    const further = clients?.furtherOf?.[path.split('/')[2] ?? ''] ?? []
    return [path, new Set([...(clients?.everyMethod ?? []), ...further])]
  })
}

function namesOf(call: ServerInterceptingCallInterface): string[] {
  return readClientNames(call.getAuthContext().sslPeerCertificate?.subjectaltname)
}

/**
 * Reads the names of a client.
 *
 * @param subjectAltName of its certificate, as Node writes it: `DNS:one.example, URI:spiffe://example/one`. A name that
 *   contains commas is quoted: it is skipped, like every other kind of name
 */
export function readClientNames(subjectAltName: string | undefined): string[] {
  return (subjectAltName ?? '').split(', ').flatMap((entry) => {
    const [, kind, name = ''] = /^(DNS|URI):([^"]+)$/.exec(entry) ?? []
    // A colon distinguishes the two wherever they are written without their kind.
    if (kind === 'URI' && name.includes(':')) return [name]
    if (kind === 'DNS' && !name.includes(':')) return [name.toLowerCase()]
    return []
  })
}
