import type { Mutation, TestReference } from '../mutation.js'

const CLIENT_NAMES = 'packages/grpc-transport/src/client-names.ts'
const CREDENTIALS = 'packages/grpc-transport/src/tls-credentials.ts'
const ALLOWED_CLIENTS = 'services/auth-server/src/grpc/allowed-clients.ts'
const UNSAFE_GRPC = 'packages/runtime/src/configuration/unsafe-grpc.ts'

const connecting = (title: string): TestReference => ({
  file: 'packages/grpc-transport/test/tls.test.ts',
  title
})

/** Callers of gRPC. */
export const GRPC_GUARDS: readonly Mutation[] = [
  {
    guard: 'only named clients may call',
    file: CLIENT_NAMES,
    text: 'clientNames.some((name) => names.has(name))',
    broken: 'names.size > 0',
    test: connecting('refuses a client with another URI, and tells it nothing')
  },
  {
    guard: 'a DNS name never matches a URI with the same text',
    file: CLIENT_NAMES,
    text: "kind === 'DNS' && !name.includes(':')",
    broken: "kind === 'DNS'",
    test: {
      file: 'packages/grpc-transport/test/client-names.test.ts',
      title: 'are never parts of another name'
    }
  },
  {
    guard: 'connections with an invalid client certificate are refused',
    file: CREDENTIALS,
    text: 'rejectUnauthorized: true',
    broken: 'rejectUnauthorized: false',
    test: connecting('does not take one that comes with one that has expired either')
  },
  {
    guard: 'a server is never identified by its common name',
    file: CREDENTIALS,
    text: "CN: ''",
    broken: 'CN: certificate.subject.CN',
    test: connecting('does not talk to a server whose name is its common name alone')
  },
  {
    guard: 'the resource server cannot revoke a grant',
    file: ALLOWED_CLIENTS,
    text: 'furtherOf: { AuditLimits: limits, ListFrozenClients: limits }',
    broken: 'furtherOf: { AuditLimits: limits, RevokeGrant: limits }',
    test: {
      file: 'infra/prove/acceptance/test/mutual-tls.test.ts',
      title: 'the name of the resource server is let in where it is named, and nowhere else'
    }
  },
  {
    guard: 'gRPC without TLS is refused in production',
    file: UNSAFE_GRPC,
    text: "  if (config.ENVIRONMENT === 'production') {",
    broken: "  if (config.ENVIRONMENT === 'production' && !place.isLoopback) {",
    test: {
      file: 'packages/runtime/src/configuration/unsafe-grpc.test.ts',
      title: 'is unsafe without TLS in production, even on loopback: every setting is named'
    }
  }
]
