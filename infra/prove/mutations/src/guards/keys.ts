import type { Mutation } from '../mutation.js'

/** Signatures, nonces, and lookups that strangers cannot exploit. */
export const KEY_GUARDS: readonly Mutation[] = [
  {
    guard: 'a key is imported only from its canonical encoding, and never a point of small order',
    file: 'packages/http-signatures/src/ed25519-jwk.ts',
    text: '  assertPublicKey(x)\n  try {',
    broken: '  try {',
    test: {
      file: 'packages/http-signatures/src/ed25519-jwk.test.ts',
      title: 'with padding, which jose accepts, is not imported'
    }
  },
  {
    guard: 'a key that its client removed is not accepted',
    file: 'services/auth-server/src/domain/clients.ts',
    text: 'if (walletAddress !== undefined) {',
    broken: 'if (walletAddress !== undefined && keyId !== boundKeyId) {',
    test: {
      file: 'services/auth-server/src/features/authorize-holder/changed-keys.test.ts',
      title:
        'cannot use a key that it took out, the one that asked for the grant included, once its keys are fetched again'
    }
  },
  {
    guard: 'a client whose keys cannot be fetched now is told to come again',
    file: 'services/auth-server/src/domain/clients.ts',
    text: 'return error instanceof HostUnavailable && (isProven || error.mayBeTold)',
    broken: 'return error instanceof HostUnavailable && error.mayBeTold && !isProven',
    test: {
      file: 'services/auth-server/src/features/authorize-holder/changed-keys.test.ts',
      title: 'is told 503 when another key than those is needed'
    }
  },
  {
    guard: 'a stranger is not told that a host does not answer',
    file: 'services/auth-server/src/modules/clients/client-directory.ts',
    text: 'mayBeTold: saysSo || isOwn',
    broken: 'mayBeTold: saysSo || isOwn || true',
    test: {
      file: 'services/auth-server/test/decisions-table.test.ts',
      title: 'when nothing listens at a stranger’s host: the answer says where it looked'
    }
  },
  {
    guard: 'a wrong token never causes a key fetch',
    file: 'services/auth-server/src/features/authorize-holder/holder-authorizer.ts',
    text: 'isRight ? found?.holder : undefined',
    broken: 'found?.holder',
    test: {
      file: 'services/auth-server/src/features/authorize-holder/uniform-refusals.test.ts',
      title: 'and makes nobody fetch keys with a token that is not right, however long none were fetched'
    }
  },
  {
    guard: 'a refusal costs the same whether or not the token is cached',
    file: 'services/auth-server/src/features/authorize-holder/holder-authorizer.ts',
    text: 'if (recalled !== undefined) await find(id)',
    broken: '',
    test: {
      file: 'services/auth-server/src/features/authorize-holder/uniform-refusals.test.ts',
      title: 'on POST of a token, whatever is wrong'
    }
  },
  {
    guard: 'a signature is verified even if there is no key',
    file: 'packages/service-kit/src/signatures/signature-checks.ts',
    text: 'verifySignature(signature, key ?? { kid: signature.keyId, publicKey: NOBODYS_KEY })',
    broken: 'if (key !== undefined) verifySignature(signature, key)',
    test: {
      file: 'services/resource-server/src/features/authorize-request/uniform-refusals.test.ts',
      title:
        'refuses whatever key is not the client’s in the same words and at the same cost: one question, one verification'
    }
  },
  {
    guard: 'a nonce whose mark may have been lost is refused',
    file: 'packages/shared-store/src/redis-marks.ts',
    text: 'if (createdSeconds === undefined || isRemembered(createdSeconds, epochMs)) return true',
    broken: 'if (createdSeconds === undefined || isRemembered(createdSeconds, epochMs) || true) return true',
    test: {
      file: 'packages/shared-store/src/shared-store.test.ts',
      title: 'refuses nonces that may predate the data loss, whichever replica detects it'
    }
  },
  {
    guard: 'a nonce whose mark another server of Redis may lack is refused',
    file: 'packages/shared-store/src/redis-marks.ts',
    text: 'elseif history and written and written ~= history then',
    broken: 'elseif false then',
    test: {
      file: 'packages/shared-store/src/shared-store.test.ts',
      title: 'refuses nonces from before the server came back with an older copy of its data'
    }
  },
  {
    guard: 'a mark counts only where most sentinels say the primary is',
    file: 'packages/shared-store/src/redis-connection.ts',
    text: '      await this.#clients.confirm(address, leaseMs)\n',
    broken: '      await Promise.resolve(leaseMs)\n',
    test: {
      file: 'packages/shared-store/src/redis-failover.test.ts',
      title: 'counts no mark while most sentinels are out of reach, since its server may be a former primary'
    }
  },
  {
    guard: 'hosts that never answer leave room for vouched-for hosts',
    file: 'packages/http-client/src/admission.ts',
    text: "  { standings: ['stranger'], max: REQUESTS_TO_STRANGERS_MAX },\n",
    broken: '',
    test: {
      file: 'packages/http-client/src/admission.test.ts',
      title: 'are partly reserved for vouched-for hosts, however many strangers there are'
    }
  },
  {
    guard: 'an abandoned DNS lookup is cancelled',
    file: 'packages/http-client/src/lookup.ts',
    text: "signal.addEventListener('abort', cancel, { once: true })",
    broken: '',
    test: {
      file: 'packages/http-client/test/silent-name-servers.test.ts',
      title: 'do not block other names, and their lookups are cancelled with the requests'
    }
  },
  {
    guard: "a client sees another client's quote only with the consent of its account holder",
    file: 'services/resource-server/src/domain/visibility.ts',
    text: "type !== 'quote' || request.consentedWalletAddress === resource.walletAddressUrl",
    broken: 'true',
    test: {
      file: 'services/resource-server/test/quotes.test.ts',
      title: 'is hidden from other clients, unless its account holder agreed that they may read all'
    }
  },
  {
    guard: 'a client asks account holders under the URL that its wallet address says, and under no other',
    file: 'services/auth-server/src/features/request-grant/request-grant.ts',
    text: 'id !== undefined && normalizeWalletAddress(id) !== walletAddress',
    broken: 'id === undefined && walletAddress === undefined',
    test: {
      file: 'services/auth-server/test/decisions-table.test.ts',
      title: 'when it signs as another URL of its wallet address: the answer says how that is spelled'
    }
  },
  {
    guard: 'keys that say that they are those of another wallet address are used by nobody else',
    file: 'services/auth-server/src/modules/clients/client-directory.ts',
    text: 'owner !== undefined && owner !== ownerOfKeys(url)',
    broken: 'owner !== undefined && ownerOfKeys(url) === undefined',
    test: {
      file: 'services/auth-server/test/decisions-table.test.ts',
      title: 'when its keys say that they are those of another URL, also where nobody is asked'
    }
  },
  {
    guard: 'a host with a dot at its end names no wallet address',
    file: 'packages/value-types/src/identifiers/http-url.ts',
    text: " || url.hostname.endsWith('.')",
    broken: '',
    test: {
      file: 'services/auth-server/src/domain/urls.test.ts',
      title: 'https://wallet.test./shop is known as undefined'
    }
  },
  {
    guard: 'the keys of a wallet address say whose they are',
    file: 'services/resource-server/src/features/serve-wallet-address-keys/routes.ts',
    text: 'keys !== dependencies.providerKeys',
    broken: 'keys === dependencies.providerKeys',
    test: {
      file: 'services/resource-server/test/wallet-addresses.test.ts',
      title: 'say whose they are, under whatever host they are asked for: /alice/jwks.json'
    }
  }
]
