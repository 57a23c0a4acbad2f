import type { Mutation, TestReference } from '../mutation.js'

const CLIENT_NAMES = 'packages/grpc-transport/src/client-names.ts'
const CREDENTIALS = 'packages/grpc-transport/src/tls-credentials.ts'
const ALLOWED_CLIENTS = 'services/auth-server/src/grpc/allowed-clients.ts'
const UNSAFE_GRPC = 'packages/runtime/src/configuration/unsafe-grpc.ts'

const connecting = (title: string): TestReference => ({
  file: 'packages/grpc-transport/test/tls.test.ts',
  title
})

/** Who is let in over gRPC. */
export const GRPC_GUARDS: readonly Mutation[] = [
  {
    guard: 'only clients that are named make a call',
    file: CLIENT_NAMES,
    text: 'clientNames.some((name) => names.has(name))',
    broken: 'names.size > 0',
    test: connecting('refuses a client with another URI, and tells it nothing')
  },
  {
    guard: 'a DNS name is not taken for a URI that reads like it',
    file: CLIENT_NAMES,
    text: "kind === 'DNS' && !name.includes(':')",
    broken: "kind === 'DNS'",
    test: {
      file: 'packages/grpc-transport/test/client-names.test.ts',
      title: 'are never parts of another name'
    }
  },
  {
    guard: 'a client whose certificate does not hold is not talked to',
    file: CREDENTIALS,
    text: 'rejectUnauthorized: true',
    broken: 'rejectUnauthorized: false',
    test: connecting('does not take one that comes with one that has expired either')
  },
  {
    guard: 'a server is not known by its common name',
    file: CREDENTIALS,
    text: "CN: ''",
    broken: 'CN: certificate.subject.CN',
    test: connecting('does not talk to a server whose name is its common name alone')
  },
  {
    guard: 'the resource server revokes no grant',
    file: ALLOWED_CLIENTS,
    text: 'furtherOf: { AuditLimits: limits }',
    broken: 'furtherOf: { AuditLimits: limits, RevokeGrant: limits }',
    test: {
      file: 'infra/prove/acceptance/test/mutual-tls.test.ts',
      title: 'the name of the resource server is let in where it is named, and nowhere else'
    }
  },
  {
    guard: 'plain text is not spoken over gRPC in production',
    file: UNSAFE_GRPC,
    text: "  if (config.ENVIRONMENT === 'production') {",
    broken: "  if (config.ENVIRONMENT === 'production' && !place.isLoopback) {",
    test: {
      file: 'packages/runtime/src/configuration/unsafe-grpc.test.ts',
      title: 'is unsafe in plain text in production, on this machine too: every setting is named'
    }
  }
]
