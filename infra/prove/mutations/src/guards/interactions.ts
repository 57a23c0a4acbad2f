import type { Mutation, TestReference } from '../mutation.js'

const INTERACTIONS = 'services/auth-server/src/domain/interactions.ts'
const CONTINUATION = 'services/auth-server/src/domain/continuation.ts'
const START = 'services/auth-server/src/modules/interactions/change.ts'
const CHECKS = 'services/auth-server/src/features/request-grant/request-checks.ts'
const PURGE = 'services/auth-server/src/features/purge-grants/purge-statements.ts'

const binding = (title: string): TestReference => ({
  file: 'services/auth-server/test/browser-binding.test.ts',
  title
})

const asked = (title: string): TestReference => ({
  file: 'services/auth-server/src/features/request-grant/what-is-asked.test.ts',
  title
})

/** Consent belongs to one account holder, browser and moment; the purge deletes nothing that matters. */
export const INTERACTION_GUARDS: readonly Mutation[] = [
  {
    guard: 'only one of the browsers that open an interaction keeps it',
    file: START,
    text: 'where: { id: interactionId, browserHash: null }',
    broken: 'where: { id: interactionId }',
    test: binding('however many open it at once')
  },
  {
    guard: 'an interaction ends in the browser in which the account holder consented',
    file: INTERACTIONS,
    text: 'return isBoundTo(interaction, browser.cookie) && hasCode',
    broken: 'return isBoundTo(interaction, browser.cookie)',
    test: binding('is finished neither by who began without agreeing, nor by who agreed without beginning')
  },
  {
    guard: 'one consent covers one wallet address, in the spelling of its own document',
    file: CHECKS,
    text: 'for (const named of [first, ...others]) checkSpelling(named, walletAddress)',
    broken: '',
    test: asked('is refused for a final slash in the subject')
  },
  {
    guard: 'a quote that needs consent is limited to the wallet that is asked',
    file: CHECKS,
    text: 'needsConsent(item) && item.identifier === undefined ? { ...item, identifier: first.url } : item',
    broken: 'item',
    test: asked('holds quotes that need it and name no wallet to the one that is named')
  },
  {
    guard: 'only the deciding browser learns the decision',
    file: 'services/auth-server/src/features/start-interaction/start-interaction.ts',
    text: 'if (!mayFinish(interaction, browser)) return undefined',
    broken: '',
    test: binding('says what was decided to the browser in which it was, and to no other')
  },
  {
    guard: 'an approval can be continued only in time',
    file: CONTINUATION,
    text: "if (!isPending && isPast(grant.continueBeforeMs, nowMs)) return 'too-late'",
    broken: '',
    test: binding('by a client that polls, too')
  },
  {
    guard: 'a grant that moved money is kept for good',
    file: PURGE,
    text: 'when ${isSpentUnder(DUE_ID)} then null',
    broken: '',
    test: {
      file: 'services/auth-server/src/features/purge-grants/purge.test.ts',
      title:
        'under which money moved stays for good, with its windows and reservations, and the books stay in order'
    }
  },
  {
    guard: 'a fast clock deletes nothing',
    file: 'packages/service-kit/src/purge/statement.ts',
    text: "least(${placeholder('now')}::timestamptz, now())",
    broken: "${placeholder('now')}::timestamptz",
    test: {
      file: 'services/auth-server/src/features/purge-grants/purge.test.ts',
      title: 'believes no clock that runs ahead of that of the database'
    }
  }
]
