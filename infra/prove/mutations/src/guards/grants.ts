import type { Mutation, TestReference } from '../mutation.js'

const CHANGE = 'services/auth-server/src/modules/grants/change.ts'
const ROTATE = 'services/auth-server/src/modules/tokens/rotate.ts'
const TOKEN_RECORDS = 'services/resource-server/src/features/authorize-request/token-records.ts'

const racing = (title: string): TestReference => ({
  file: 'services/auth-server/test/races.test.ts',
  title
})
const caching = (title: string): TestReference => ({
  file: 'services/resource-server/test/introspection-cache.test.ts',
  title
})

/** Grants and tokens: one at a time, and only for their holders. */
export const GRANT_GUARDS: readonly Mutation[] = [
  {
    guard: 'a grant is issued once, however many continuations race',
    file: CHANGE,
    text: "::uuid and state = 'approved'",
    broken: '::uuid',
    test: racing('one of four continuations gets the token, the others 401 request_denied')
  },
  {
    guard: 'a poll starts the wait once',
    file: CHANGE,
    text: "state: 'pending', OR: [{ continueAfter: null }, { continueAfter: { lte: now } }]",
    broken: "state: 'pending'",
    test: racing('one of five polls is answered, the others come too fast')
  },
  {
    guard: 'a token is rotated once, however many rotations race',
    file: ROTATE,
    text: '::uuid[]) and end_reason is null',
    broken: '::uuid[])',
    test: racing('one of five rotations wins, the others get 404 invalid_rotation')
  },
  {
    guard: 'a token is rotated only under a live grant, even if the token is cached',
    file: ROTATE,
    text: 'and ${GRANT_ID} = t.grant_id and ${IS_ISSUED}',
    broken: 'and g.id = t.grant_id',
    test: {
      file: 'services/auth-server/test/remembered-tokens.test.ts',
      title: 'is refused when its grant is over, also where the token was overlooked'
    }
  },
  {
    guard: 'the account holder decides once',
    file: CHANGE,
    text: "where g.id = i.grant_id and g.state = 'pending'",
    broken: 'where g.id = i.grant_id',
    test: racing('one of several choices counts, and grant and interaction agree on it')
  },
  {
    guard: 'a grant ends only from the states that its caller may end',
    file: CHANGE,
    text: "and g.state = any (${placeholder('from')}::grant_state[])",
    broken: '',
    test: racing('one of several choices counts, and grant and interaction agree on it')
  },
  {
    guard: 'tokens are not cached while the revocation stream is down',
    file: TOKEN_RECORDS,
    text: `
    this.#live = false
    this.#tokens.clear()`,
    broken: '',
    test: caching('is asked every time while the stream is down, and kept again when it is back')
  },
  {
    guard: 'a revoked token leaves the cache',
    file: TOKEN_RECORDS,
    text: 'this.#tokens.delete(tokenHash)\n    for (const pending of this.#pending) if',
    broken: 'for (const pending of this.#pending) if',
    test: caching('is void as soon as the token is revoked')
  },
  {
    guard: 'the tokens of a revoked grant leave the cache',
    file: TOKEN_RECORDS,
    text: 'for (const tokenHash of [...(this.#tokensOfGrants.get(grantId) ?? [])]) this.#tokens.delete(tokenHash)',
    broken: '',
    test: caching('is void as soon as its grant is revoked')
  },
  {
    guard: 'an answer overtaken by a revocation is not cached',
    file: TOKEN_RECORDS,
    text: 'if (pending.void || pending.revokedGrants.has(record.grantId)) return',
    broken: '',
    test: caching('is not kept when the revocation overtakes the answer')
  }
]
