import type { Mutation, TestReference } from '../mutation.js'

const FOLDER = 'services/resource-server/src/other-providers'

const reading = (title: string): TestReference => ({
  file: 'services/resource-server/test/remote-receivers.test.ts',
  title
})

/** What other providers are believed, and what they get. */
export const OTHER_PROVIDER_GUARDS: readonly Mutation[] = [
  {
    guard: 'a token for another provider goes to the origin of its auth server only',
    file: `${FOLDER}/grant-answer.ts`,
    text: 'manage !== undefined && new URL(manage).origin === new URL(authServer).origin',
    broken: 'true',
    test: reading('never goes to a foreign host, even after a rotation')
  },
  {
    guard: 'a grant that another provider may have given is not requested again',
    file: `${FOLDER}/requests.ts`,
    text: 'error.isUnsent && isPassing(error)',
    broken: 'isPassing(error)',
    test: reading('is not got from an auth server that hangs up, and not asked for again')
  },
  {
    guard: 'a request of which something left is not known as unsent',
    file: 'packages/http-client/src/departure.ts',
    text: '        hasStarted = true\n',
    broken: '',
    test: { file: 'packages/http-client/test/json.test.ts', title: 'when it is never answered' }
  },
  {
    guard:
      "whoever refuses every token does not make us request grants at somebody else's auth server without end",
    file: `${FOLDER}/grants.ts`,
    text: 'if (sinceMs >= 0 && sinceMs < REPLACEMENT_PAUSE_MS) return undefined',
    broken: '',
    test: reading('is not requested without end for one who refuses every token')
  },
  {
    guard: 'an incoming payment elsewhere is the one that was asked for',
    file: `${FOLDER}/incoming-payment-document.ts`,
    text: "if (data.id !== url) throw invalid('id')",
    broken: '',
    test: reading('is invalid because of the id of its neighbour')
  },
  {
    guard: 'an incoming payment elsewhere receives one asset',
    file: `${FOLDER}/incoming-payment-document.ts`,
    text: 'incomingAmount !== undefined && !isSameAsset(incomingAmount.asset, asset)',
    broken: 'false',
    test: reading('is invalid because its amounts have two asset scales')
  },
  {
    guard: 'nothing that another provider sent, such as our token, is logged',
    file: `${FOLDER}/provider-failure.ts`,
    text: 'cause: NOTHING_RECEIVED.has(reason) ? error : undefined',
    broken: 'cause: error',
    test: reading('leaves nothing of a token in what is logged')
  }
]
