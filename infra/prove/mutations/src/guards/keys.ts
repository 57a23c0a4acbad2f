import type { Mutation } from '../mutation.js'

/** What keeps requests to those whose keys signed them, each nonce to one of them, and strangers from learning or blocking anything. */
export const KEY_GUARDS: readonly Mutation[] = [
  {
    guard: 'a key is imported only from its one canonical text, and never a point of small order',
    file: 'packages/http-signatures/src/ed25519-jwk.ts',
    text: '  assertPublicKey(x)\n  try {',
    broken: '  try {',
    test: {
      file: 'packages/http-signatures/src/ed25519-jwk.test.ts',
      title: 'with padding, which jose accepts, is not imported'
    }
  },
  {
    guard: 'a key that its client took out is none',
    file: 'services/auth-server/src/domain/clients.ts',
    text: 'if (walletAddress !== undefined) return',
    broken: 'if (walletAddress !== undefined && keyId !== boundKeyId) return',
    test: {
      file: 'services/auth-server/src/features/authorize-holder/changed-keys.test.ts',
      title:
        'cannot use a key that it took out, the one that asked for the grant included, once its keys are fetched again'
    }
  },
  {
    guard: 'nobody makes us fetch keys with a token that is not right',
    file: 'services/auth-server/src/features/authorize-holder/holder-authorizer.ts',
    text: 'isRight ? found?.holder : undefined',
    broken: 'found?.holder',
    test: {
      file: 'services/auth-server/src/features/authorize-holder/uniform-refusals.test.ts',
      title: 'and makes nobody fetch keys with a token that is not right, however long none were fetched'
    }
  },
  {
    guard: 'refusing costs the same whether or not it is remembered whose a token is',
    file: 'services/auth-server/src/features/authorize-holder/holder-authorizer.ts',
    text: 'if (recalled !== undefined) await find(id)',
    broken: '',
    test: {
      file: 'services/auth-server/src/features/authorize-holder/uniform-refusals.test.ts',
      title: 'on POST of a token, whatever is wrong'
    }
  },
  {
    guard: 'where there is no key, as much is verified as elsewhere',
    file: 'services/resource-server/src/features/authorize-request/request-authorizer.ts',
    text: 'const isSigned = isSignedWith(',
    broken: 'const isSigned = key !== undefined && isSignedWith(',
    test: {
      file: 'services/resource-server/src/features/authorize-request/uniform-refusals.test.ts',
      title:
        'refuses whatever key is not the client’s in the same words and at the same cost: one question, one verification'
    }
  },
  {
    guard: 'a nonce that may have been used before its mark was lost is not taken',
    file: 'packages/shared-store/src/redis-marks.ts',
    text: 'return marked === 1 && isRemembered(createdSeconds, epochMs)',
    broken: 'return marked === 1 && (isRemembered(createdSeconds, epochMs) || true)',
    test: {
      file: 'packages/shared-store/src/shared-store.test.ts',
      title: 'takes nothing for unused that may have been used before the loss, whoever notices first'
    }
  },
  {
    guard: 'hosts that never answer leave room for those that somebody vouched for',
    file: 'packages/http-client/src/admission.ts',
    text: "  { standings: ['stranger'], max: REQUESTS_TO_STRANGERS_MAX },\n",
    broken: '',
    test: {
      file: 'packages/http-client/src/admission.test.ts',
      title: 'are kept in part for hosts that were vouched for: any number of strangers leave room for them'
    }
  },
  {
    guard: 'a look-up that nobody waits for ends',
    file: 'packages/http-client/src/lookup.ts',
    text: "signal.addEventListener('abort', cancel, { once: true })",
    broken: '',
    test: {
      file: 'packages/http-client/test/silent-name-servers.test.ts',
      title: 'keep no other name from being fetched, and their look-ups end with the requests'
    }
  },
  {
    guard: "a client sees another's quote only when the holder of its wallet address agreed",
    file: 'services/resource-server/src/domain/visibility.ts',
    text: "type !== 'quote' || request.consentedWalletAddress === resource.walletAddressUrl",
    broken: 'true',
    test: {
      file: 'services/resource-server/test/quotes.test.ts',
      title: 'is hidden from other clients, unless its account holder agreed that they may read all'
    }
  }
]
