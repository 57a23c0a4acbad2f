import type { Mutation, TestReference } from '../mutation.js'

const STREAM = 'services/resource-server/src/features/wait-for-changes/payment-stream.ts'
const TOKENS = 'services/resource-server/src/features/wait-for-changes/watched-tokens.ts'
const REQUEST = 'services/resource-server/src/features/wait-for-changes/waiting-request.ts'

const streaming = (title: string): TestReference => ({
  file: 'services/resource-server/test/waiting-streams.test.ts',
  title
})
const requesting = (title: string): TestReference => ({
  file: 'services/resource-server/test/waiting-requests.test.ts',
  title
})

/** A client that waits is told nothing once its token has ended, and takes no more than its share. */
export const WAITING_GUARDS: readonly Mutation[] = [
  {
    guard: 'a stream tells nothing once its token has expired',
    file: STREAM,
    text: 'if (this.#isTokenExpired) {\n      this.end()',
    broken: 'if (this.#queue.length < 0) {\n      this.end()',
    test: streaming('when that expires')
  },
  {
    guard: 'a stream tells nothing with a token that may have been revoked',
    file: TOKENS,
    text: 'return watched.isDoubtful ? this.#ask(watched) : true',
    broken: 'return true',
    test: streaming('also when its revocation was missed, and before anything more is told')
  },
  {
    guard: 'a waiting request is told nothing once its token has expired',
    file: REQUEST,
    text: 'if (this.#isTokenExpired) return payment',
    broken: '',
    test: requesting('ends it when it expires')
  },
  {
    guard: 'a waiting request is told nothing with a token that may have been revoked',
    file: REQUEST,
    text: 'if (!(await token.isActive())) throw inactiveToken()',
    broken: '',
    test: requesting('is asked about before it is told what changed while revocations may have been missed')
  },
  {
    guard: 'one client does not take the places of all that wait',
    file: 'services/resource-server/src/features/wait-for-changes/waiting-room.ts',
    text: 'if ((this.#ofClients.get(client) ?? 0) >= waitersPerClientMax)',
    broken: 'if (waitersPerClientMax < 0)',
    test: requesting('are refused beyond the limit of their client, and that of the replica')
  },
  {
    guard: 'who does not read a stream does not fill the memory',
    file: 'packages/http-server/src/event-stream.ts',
    text: 'if (this.#response.writableLength > UNREAD_BYTES_MAX)',
    broken: 'if (UNREAD_BYTES_MAX < 0)',
    test: {
      file: 'packages/http-server/src/event-stream.test.ts',
      title: 'is cut off when its client does not read it, however much is written'
    }
  }
]
