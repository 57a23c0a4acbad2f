import type { Mutation, TestReference } from '../mutation.js'

const CHANGE = 'services/auth-server/src/features/change-allowed-grant/change-allowed-grant.ts'
const FIND = 'services/auth-server/src/features/allowed-grants.ts'
const LOWERING = 'services/auth-server/src/domain/lowering.ts'
const LOWER = 'services/auth-server/src/modules/limits/lower.ts'
const RESERVE = 'services/auth-server/src/modules/limits/reserve.ts'
const READ = 'services/auth-server/src/modules/tokens/read.ts'
const AUTHORIZER = 'services/resource-server/src/features/authorize-request/request-authorizer.ts'

const allowing = (title: string): TestReference => ({
  file: 'services/auth-server/test/allowed-grants.test.ts',
  title
})

/** What account holders do with the grants that they consented to is in force, and only theirs. */
export const ALLOWED_GRANT_GUARDS: readonly Mutation[] = [
  {
    guard: 'nothing is reserved under a paused grant',
    file: RESERVE,
    text: ' and not living.grant_paused',
    broken: '',
    test: allowing('reserves nothing, and the same payment is reserved once it is resumed')
  },
  {
    guard: 'under a paused grant nothing is created',
    file: AUTHORIZER,
    text: 'if (verified.record.grantPaused) throw grantPaused()',
    broken: '',
    test: {
      file: 'services/resource-server/test/freeze.test.ts',
      title: 'may only be read under, from the moment on at which the stream tells of it'
    }
  },
  {
    guard: 'a grant is changed for the account holder of its wallet address alone',
    file: FIND,
    text: ' and wallet_address = any (${WALLET_ADDRESSES})',
    broken: ' and cardinality(${WALLET_ADDRESSES}) > 0',
    test: allowing('refuses everybody but the account holder of its wallet address')
  },
  {
    guard: 'a grant whose consent was proved is changed for the person who proved it alone',
    file: FIND,
    text: '\n             and ${isConsentOf(Prisma.sql`consented.grant_id`, PERSON)}) held',
    broken: ') held',
    test: allowing('refuses everybody but the person of its consent record')
  },
  {
    guard: 'a limit is never raised',
    file: LOWERING,
    text: 'if (inForce !== undefined && lowered.value > inForce.value)',
    broken: 'if (inForce !== undefined && lowered.value < 0n)',
    test: allowing('cannot be raised again, and repeating it changes nothing')
  },
  {
    guard: 'what was spent above a lowered limit stays spent',
    file: LOWER,
    text: 'greatest(l.limit_debit_value, w.spent_debit_value)',
    broken: 'l.limit_debit_value',
    test: allowing('keeps what was spent above it, and nothing fits any more until the next interval')
  },
  {
    guard: 'a cached token is read anew when its grant has changed',
    file: READ,
    text: 'if (row.grantUpdatedAt.getTime() === kept.access.grantUpdatedAtMs) return',
    broken: 'return',
    test: allowing('shows its client the lowered access, also with a token that was introspected before')
  },
  {
    guard: 'a token is not active after the end that its account holder set',
    file: READ,
    text: ' and ${isBeforeEnd(Prisma.sql`wanted.asked_at`)}',
    broken: '',
    test: allowing('ends when its account holder set it: no token is active any more')
  },
  {
    guard: 'nothing of a grant that has ended changes',
    file: CHANGE,
    text: "if (grant.state === 'ended')",
    broken: 'if (grant.id === undefined)',
    test: allowing('has no active token, and its reservations can still end')
  }
]
