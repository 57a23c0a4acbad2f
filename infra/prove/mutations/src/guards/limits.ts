import type { Mutation, TestReference } from '../mutation.js'

const listening = (title: string): TestReference => ({
  file: 'packages/http-server/src/server.test.ts',
  title
})
const limiting = (title: string): TestReference => ({
  file: 'packages/service-kit/test/rate-limits/rate-limits.test.ts',
  title
})

const COUNTED_REQUESTS = 'services/resource-server/src/features/limit-requests/counted-requests.ts'
const keying = (title: string): TestReference => ({
  file: 'services/resource-server/src/features/limit-requests/counted-requests.test.ts',
  title
})

/** Resource limits: listeners, rates and rows. */
export const LIMIT_GUARDS: readonly Mutation[] = [
  {
    guard: 'no header is dropped, because a signature may cover it',
    file: 'packages/http-server/src/refusals.ts',
    text: "if (rawHeaders.length > 2 * HEADER_COUNT_MAX) return { status: 431, description: 'too many header fields' }",
    broken: 'if (rawHeaders.length < 0) return undefined',
    test: listening('header, instead of dropping it')
  },
  {
    guard: 'requests behind a refused one on its connection have no effect',
    file: 'packages/http-server/src/connections.ts',
    text: 'if (connection.isEnding) return false',
    broken: '',
    test: listening('request after a refused one: nothing behind it on its connection has an effect')
  },
  {
    guard: 'a parse error after a complete request is never its answer',
    file: 'packages/http-server/src/connections.ts',
    text: 'else if (last.req.complete) this.#closeAfter(last, socket)',
    broken: '',
    test: listening('when the bytes after a request cannot be parsed')
  },
  {
    guard: 'a client over its limit does not count for wallet addresses',
    file: 'packages/service-kit/src/rate-limits/rate-limits.ts',
    text: 'if (known.length > 0) return known',
    broken: '',
    test: limiting('count nothing for a wallet address when the client is over its limit')
  },
  {
    guard: 'replicas share a limit',
    file: 'packages/service-kit/src/rate-limits/shared-counts.ts',
    text: 'window.count = count + window.untold',
    broken: '',
    test: {
      file: 'packages/service-kit/test/rate-limits/replicas.test.ts',
      title: 'exceed the limit by at most what each receives before synchronizing'
    }
  },
  {
    guard: "strangers cannot use up a wallet address's budget for clients with consent",
    file: COUNTED_REQUESTS,
    text: "return `${isConsented ? 'consented' : 'unasked'}:${path}`",
    broken: 'return `unasked:${path}`',
    test: keying('that it does not name is about the only one its token reaches')
  },
  {
    guard: 'a token never counts for a wallet address that it does not reach',
    file: COUNTED_REQUESTS,
    text: 'if (reaching.length === 0) return undefined',
    broken: '',
    test: keying('that its token does not reach counts for the client alone')
  },
  {
    guard: "a request over its client's limit marks no nonce at the resource server",
    file: 'services/resource-server/src/features/authorize-request/request-authorizer.ts',
    text: 'options.countVerified?.(request, authorized)',
    broken: '',
    test: {
      file: 'services/resource-server/test/bounded-storage.test.ts',
      title: 'are left by no request beyond the limit of its client'
    }
  },
  {
    guard: "a grant request over its client's limit marks no nonce",
    file: 'services/auth-server/src/features/authenticate-client/client-authenticator.ts',
    text: 'countVerified?.(signature, `key:${key.x}`)',
    broken: '',
    test: {
      file: 'services/auth-server/test/bounded-storage.test.ts',
      title: 'are left by no request beyond the limit of its client'
    }
  },
  {
    guard: 'nonce marks have a fixed length',
    file: 'packages/service-kit/src/signatures/signature-checks.ts',
    text: "`nonce:${hashSecret(`${key.x}\\n${nonce}`).toString('base64url')}`",
    broken: '`nonce:${key.x}:${nonce}`',
    test: {
      file: 'services/auth-server/test/bounded-storage.test.ts',
      title: 'are left by no request beyond the limit of its client'
    }
  },
  {
    guard: 'identifiers hosted elsewhere have a maximum length',
    file: 'services/auth-server/src/features/request-grant/request-checks.ts',
    text: 'const STRANGE_IDENTIFIER_LENGTH_MAX = 256',
    broken: 'const STRANGE_IDENTIFIER_LENGTH_MAX = 2_048',
    test: {
      file: 'services/auth-server/test/bounded-storage.test.ts',
      title: 'has at most 256 characters unless it is hosted here: what is refused is named, and not stored'
    }
  },
  {
    guard: "metadata without the account holder's consent is limited",
    file: 'services/resource-server/src/features/create-incoming-payment/create-incoming-payment.ts',
    text: 'metadataBytes(metadata) > UNASKED_METADATA_BYTES_MAX',
    broken: 'metadataBytes(metadata) > Infinity',
    test: {
      file: 'services/resource-server/test/bounded-storage.test.ts',
      title:
        'expires within a year and carries at most 2 KB of metadata; what alice agreed to is no consent of bob'
    }
  },
  {
    guard: "rows per day without the account holder's consent are limited",
    file: COUNTED_REQUESTS,
    text: '? rowKeys(request.network, authorized.client)',
    broken: '? {}',
    test: {
      file: 'services/resource-server/test/bounded-storage.test.ts',
      title: 'are limited for a network address where no account holder agreed, and reading goes on'
    }
  },
  {
    guard: 'the rows of an IPv6 /48 are limited',
    file: 'packages/service-kit/src/rate-limits/rate-limits.ts',
    text: "'site-rows': site,",
    broken: '',
    test: limiting('count for an IPv6 /48 too, because whoever has one has 65,536 /64')
  },
  {
    guard: 'every route that creates at the resource server counts rows, whatever its query says',
    file: 'packages/http-server/src/http-request.ts',
    text: "this.storesRows = route.storesRows ?? route.method === 'POST'",
    broken: "this.storesRows = !this.originalUrl.endsWith('/complete') && route.method === 'POST'",
    test: {
      file: 'services/resource-server/test/bounded-storage.test.ts',
      title: 'are counted by the route that takes a request, whatever its query says'
    }
  },
  {
    guard: 'grant requests and rotations count rows, whatever their query says',
    file: 'services/auth-server/src/features/limit-clients/counted-clients.ts',
    text: 'const rows = storesRows ? rowKeys(network, client) : {}',
    broken: 'const rows = {}',
    test: {
      file: 'services/auth-server/test/bounded-storage.test.ts',
      title: 'are counted by the route that takes a request, whatever its query says'
    }
  },
  {
    guard: "the consent of one account holder does not count for another's rows",
    file: COUNTED_REQUESTS,
    text: 'walletAddressPathOf(consented) !== path',
    broken: 'false',
    test: {
      file: 'services/resource-server/test/bounded-storage.test.ts',
      title: 'are limited for a network address where no account holder agreed, and reading goes on'
    }
  }
]
