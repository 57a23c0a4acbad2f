import { isLoopbackHost } from '../index.js'
import { GRPC_LISTENER_TLS } from './shared-settings.js'

type Given<Name extends string> = Readonly<Partial<Record<Name, string | undefined>>>

/** The settings of a gRPC listener that can be unsafe together. */
export interface GuardedGrpcListener {
  readonly ENVIRONMENT: 'production' | 'development'
  readonly GRPC_HOST: string
  readonly GRPC_TLS_CERTIFICATE_FILE?: string | undefined
  readonly GRPC_TLS_KEY_FILE?: string | undefined
  readonly GRPC_TLS_CLIENT_CA_FILE?: string | undefined
}

/**
 * Finds settings that no gRPC listener may start with: plain text in production, or where others could reach it, and
 * methods for which no clients are named.
 *
 * @param clientLists names of the settings that say who may call what
 * @returns one sentence per problem, for a ConfigurationError
 */
export function findUnsafeGrpcListener<Name extends string>(
  config: GuardedGrpcListener & Readonly<Partial<Record<Name, readonly string[] | undefined>>>,
  clientLists: readonly Name[]
): string[] {
  const problems = findPlaintext(config, Object.values(GRPC_LISTENER_TLS), {
    setting: 'GRPC_HOST',
    isLoopback: isLoopbackHost(config.GRPC_HOST)
  })
  if (config.ENVIRONMENT !== 'production') return problems
  for (const name of clientLists) {
    if (config[name] === undefined) {
      problems.push(`${name}: must be set in production: name the clients, as their certificates do`)
    }
  }
  return problems
}

/**
 * Finds incomplete TLS settings, and plain text in production or to other machines.
 *
 * @param tls names of the settings that enable TLS: all of them, or none
 * @param place where the other end is, and the setting that says so
 * @returns one sentence per problem, for a ConfigurationError
 */
export function findPlaintext<Name extends string>(
  config: Given<Name> & { readonly ENVIRONMENT: 'production' | 'development' },
  tls: readonly Name[],
  place: { readonly setting: string; readonly isLoopback: boolean }
): string[] {
  const [given] = tls.filter((name) => config[name] !== undefined)
  const missing = tls.filter((name) => config[name] === undefined)
  if (given !== undefined) return missing.map((name) => `${name}: must be set when ${given} is`)
  if (config.ENVIRONMENT === 'production') {
    return missing.map((name) => `${name}: must be set in production: gRPC in plain text is for development`)
  }
  if (place.isLoopback) return []
  return [
    `${place.setting}: must be an address of this machine, such as 127.0.0.1, unless ${tls.join(', ')} are set: gRPC in plain text does not leave it`
  ]
}
