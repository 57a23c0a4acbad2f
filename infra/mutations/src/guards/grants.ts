import type { Mutation, TestReference } from '../mutation.js'

const CONTINUE = 'services/auth-server/src/features/continue-grant/repository.ts'
const ROTATE = 'services/auth-server/src/features/rotate-token/repository.ts'
const ACCEPT = 'services/auth-server/src/features/accept-grant/repository.ts'
const TOKEN_RECORDS = 'services/resource-server/src/features/authorize-request/token-records.ts'

const racing = (title: string): TestReference => ({
  file: 'services/auth-server/test/races.test.ts',
  title
})
const caching = (title: string): TestReference => ({
  file: 'services/resource-server/test/introspection-cache.test.ts',
  title
})

/** What keeps grants and tokens to those whose they are, and to one at a time. */
export const GRANT_GUARDS: readonly Mutation[] = [
  {
    guard: 'a grant is issued once, however many continuations race',
    file: CONTINUE,
    text: "where id = $1 and state = 'approved'",
    broken: 'where id = $1',
    test: racing('one of four continuations gets the token, the others 401 request_denied')
  },
  {
    guard: 'a poll starts the wait once',
    file: CONTINUE,
    text: 'and (continue_after is null or continue_after <= $3)',
    broken: 'and $3::timestamptz is not null',
    test: racing('one of five polls is answered, the others come too fast')
  },
  {
    guard: 'a token is rotated once, however many rotations race',
    file: ROTATE,
    text: 'where id = any ($1) and end_reason is null order by id',
    broken: 'where id = any ($1) order by id',
    test: racing('one of five rotations wins, the others get 404 invalid_rotation')
  },
  {
    guard: 'a token is rotated only under a grant that is alive, whatever is remembered of it',
    file: ROTATE,
    text: "and g.id = t.grant_id and g.state = 'issued'",
    broken: 'and g.id = t.grant_id',
    test: {
      file: 'services/auth-server/test/remembered-tokens.test.ts',
      title: 'is refused when its grant is over, also where the token was overlooked'
    }
  },
  {
    guard: 'the account holder chooses once',
    file: ACCEPT,
    text: "where i.id = $1 and i.state = 'PENDING' and i.expires_at > $2 and g.id = i.grant_id and g.state = 'pending'",
    broken: 'where i.id = $1 and i.expires_at > $2 and g.id = i.grant_id',
    test: racing('one of several choices counts, and grant and interaction agree on it')
  },
  {
    guard: 'nothing is remembered of tokens while no revocations are heard',
    file: TOKEN_RECORDS,
    text: `
    this.#live = false
    this.#tokens.clear()`,
    broken: '',
    test: caching('is asked every time while the stream is down, and kept again when it is back')
  },
  {
    guard: 'a revoked token is forgotten',
    file: TOKEN_RECORDS,
    text: 'this.#tokens.delete(tokenHash)\n    for (const pending of this.#pending) if',
    broken: 'for (const pending of this.#pending) if',
    test: caching('is void as soon as the token is revoked')
  },
  {
    guard: 'the tokens of a revoked grant are forgotten',
    file: TOKEN_RECORDS,
    text: 'for (const tokenHash of [...(this.#tokensOfGrants.get(grantId) ?? [])]) this.#tokens.delete(tokenHash)',
    broken: '',
    test: caching('is void as soon as its grant is revoked')
  },
  {
    guard: 'an answer that a revocation overtook is not remembered',
    file: TOKEN_RECORDS,
    text: 'if (pending.void || pending.revokedGrants.has(record.grantId)) return',
    broken: '',
    test: caching('is not kept when the revocation overtakes the answer')
  }
]
