import { findPlaintext, grpcClientTls } from '@open-payments-server/runtime/configuration'
import { isLoopbackTarget, isNamedTarget } from './targets.js'

/** The settings of a connection that can be unsafe together: some of those of `grpcClientSettings`. */
export type GuardedConnection<Prefix extends string> = {
  readonly ENVIRONMENT: 'production' | 'development'
} & Readonly<Record<`${Prefix}_GRPC_TARGET`, string>> &
  Readonly<
    Partial<
      Record<
        | `${Prefix}_GRPC_TLS_CA_FILE`
        | `${Prefix}_GRPC_TLS_CERTIFICATE_FILE`
        | `${Prefix}_GRPC_TLS_KEY_FILE`
        | `${Prefix}_GRPC_TLS_SERVER_NAME`,
        string | undefined
      >
    >
  >

/**
 * Finds settings with which no connection to another service may be made: plain text in production or over a network, and a peer
 * without a name that its certificate must contain.
 *
 * @param prefix which service, as its settings begin: `AUTH` for `AUTH_GRPC_TARGET` and the others
 * @param service its name for people, such as `auth server`
 * @returns one sentence per problem, for a ConfigurationError
 */
export function findUnsafeConnection<Prefix extends string>(
  config: GuardedConnection<Prefix>,
  prefix: Prefix,
  service: string
): string[] {
  const tls = grpcClientTls<string>(prefix)
  // The compiler does not see what type a name has that is put together.
  const given = config as GuardedConnection<string>
  const target = given[`${prefix}_GRPC_TARGET`] ?? ''
  const problems = findPlaintext(given, Object.values(tls), {
    setting: `${prefix}_GRPC_TARGET`,
    isLoopback: isLoopbackTarget(target)
  })
  const isTls = given[tls.authority] !== undefined
  if (isTls && given[`${prefix}_GRPC_TLS_SERVER_NAME`] === undefined && !isNamedTarget(target)) {
    problems.push(
      `${prefix}_GRPC_TLS_SERVER_NAME: must be the name in the ${service}'s certificate when ${prefix}_GRPC_TARGET is an address`
    )
  }
  return problems
}
