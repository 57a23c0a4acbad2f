import type { Mutation, TestReference } from '../mutation.js'

const CHANGE = 'services/auth-server/src/features/change-allowed-grant/change-allowed-grant.ts'
const RESUME = 'services/auth-server/src/features/change-allowed-grant/resume-grant.ts'
const FIND = 'services/auth-server/src/features/allowed-grants.ts'
const LOWERING = 'services/auth-server/src/domain/lowering.ts'
const LOWER = 'services/auth-server/src/modules/limits/lower.ts'
const RESERVE = 'services/auth-server/src/modules/limits/reserve.ts'
const READ = 'services/auth-server/src/modules/tokens/read.ts'
const MODULE = 'services/auth-server/src/modules/grants/change.ts'
const DOCUMENT = 'services/auth-server/src/features/consent-document.ts'
const AUDIT = 'services/auth-server/src/features/audit-limits/audit-consents.ts'
const AUDIT_ACTS = 'services/auth-server/src/features/audit-limits/audit-acts.ts'
const AUDIT_PROOFS = 'services/auth-server/src/features/audit-limits/audit-proofs.ts'
const AUTHORIZER = 'services/resource-server/src/features/authorize-request/request-authorizer.ts'

const allowing = (title: string): TestReference => ({
  file: 'services/auth-server/test/allowed-grants.test.ts',
  title
})

const resuming = (title: string): TestReference => ({
  file: 'services/auth-server/test/resume-proof.test.ts',
  title
})

const auditing = (title: string): TestReference => ({
  file: 'services/auth-server/src/features/audit-limits/audit-consents.test.ts',
  title
})

const ending = (title: string): TestReference => ({
  file: 'services/auth-server/test/grants-after-payments.test.ts',
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
    guard: 'a grant whose consent was proved is resumed for the person who proved it alone',
    file: CHANGE,
    text: "if (wanted.kind === 'resumed' && grant.isConsentOfAnother)",
    broken: "if (wanted.kind === 'resumed' && grant.id === undefined)",
    test: allowing(
      'lets whoever holds the wallet now restrict what somebody else consented to, and never resume it'
    )
  },
  {
    guard: 'a paused grant is resumed only with the proof that is required',
    file: RESUME,
    text: "const isNeeded = consentProof === 'required' && resumption !== undefined",
    broken: "const isNeeded = consentProof === 'either' && resumption !== undefined",
    test: resuming('required, only what is proved counts')
  },
  {
    guard: 'a proof resumes a grant after the act that it names alone',
    file: CHANGE,
    text: 'if (needsProof && (lastAct === undefined || lastAct.id !== proof?.after))',
    broken: 'if (needsProof && lastAct === undefined)',
    test: resuming('without a proof that it needs since another pause came first, however close')
  },
  {
    guard: 'without a proof a grant is resumed after the act that was shown alone',
    file: CHANGE,
    text: 'if (seenActId !== undefined && lastAct?.id !== seenActId)',
    broken: "if (seenActId === '')",
    test: resuming('without a proof nothing is resumed after an act that came first, however close')
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
  },
  {
    guard: 'what shows what others made is no right of a token any more once nothing can be paid',
    file: READ,
    text: 'afterPayments !== undefined && afterPayments.fromMs <= nowMs',
    broken: 'afterPayments !== undefined && afterPayments.fromMs < 0',
    test: ending(
      'its client no longer sees what others made, with any token, and its holder sees and stops the rest'
    )
  },
  {
    guard: 'whoever caches what a token allows asks again when it allows less',
    file: READ,
    text: 'Math.min(expiresAtMs, afterPayments?.fromMs ?? expiresAtMs)',
    broken: 'expiresAtMs',
    test: {
      file: 'infra/prove/acceptance/test/ended-grants.test.ts',
      title:
        'a client sees all payments from a wallet until its last day, then its own, and nothing once its holder stops it'
    }
  },
  {
    guard: 'a grant of which nothing is left ends with its tokens',
    file: MODULE,
    text: "least(g.ends_at, ${placeholder('usableUntil')}::timestamptz)",
    broken: "case when false then ${placeholder('usableUntil')}::timestamptz else g.ends_at end",
    test: ending(
      'it has ended if it could only pay: no token is active or rotated, and stopping it still counts'
    )
  },
  {
    guard: 'a grant ends with the last day that was consented to',
    file: MODULE,
    text: "ends_at = ${placeholder('endsAt')}::timestamptz, updated_at",
    broken: "ends_at = case when false then ${placeholder('endsAt')}::timestamptz end, updated_at",
    test: ending('ends it, with all of its tokens')
  },
  {
    guard: 'a grant whose last day is over is not issued',
    file: MODULE,
    text: "and ${isBeforeEnd(Prisma.sql`${placeholder('now')}::timestamptz`)}",
    broken: '',
    test: ending('that passes before its client collects it leaves nothing to collect')
  },
  {
    guard: 'what proves a consent is about its last day',
    file: DOCUMENT,
    text: '...(endsAtMs === undefined ? {} : { endsAt: new Date(endsAtMs).toISOString() }),',
    broken: '',
    test: {
      file: 'services/auth-server/test/consent-proof.test.ts',
      title: 'ends with the last day that its document has, and with no other'
    }
  },
  {
    guard: 'nothing of others is seen under a grant that was over when it was asked for',
    file: 'services/auth-server/src/domain/grant-expiry.ts',
    text: 'return nowMs < (payableUntilMs(access) ?? Infinity) ? access : accessAfterPayments(access)',
    broken: 'return nowMs !== (payableUntilMs(access) ?? Infinity) ? access : accessAfterPayments(access)',
    test: ending('long ago shows nothing of others, and is stopped as any other')
  },
  {
    guard: 'the audit finds an end that nobody consented to',
    file: AUDIT,
    text: "typeof endsAt === 'string' && !(endOf(consented) <= Date.parse(endsAt))",
    broken: "typeof endsAt === 'string' && endOf(consented) < 0",
    test: auditing('finds an end that nobody consented to')
  },
  {
    guard: 'the audit demands the record of a consent that was to be proved',
    file: AUDIT,
    text: 'where c.grant_id is not null or i.needs_consent_record',
    broken: 'where c.grant_id is not null',
    test: auditing('finds one that was to be proved and has no record')
  },
  {
    guard: 'a consent that must be proved is noted',
    file: 'services/auth-server/src/modules/interactions/change.ts',
    text: "needs_consent_record = ${placeholder('needsConsentRecord')}::boolean",
    broken: "needs_consent_record = ${placeholder('needsConsentRecord')}::boolean and false",
    test: {
      file: 'services/auth-server/test/consent-proof.test.ts',
      title: 'required, only proved consent counts'
    }
  },
  {
    guard: 'the audit finds the record of another interaction',
    file: AUDIT,
    text: 'if (interaction !== interaction_id)',
    broken: 'if (interaction === undefined)',
    test: auditing('finds one with the whole record of another interaction')
  },
  {
    guard: 'the audit finds a consent record with the ID token of another document',
    file: AUDIT_PROOFS,
    text: "nonce === hashDocument(proof.document).toString('base64url')",
    broken: 'nonce !== undefined',
    test: auditing('finds one with the ID token of another document')
  },
  {
    guard: 'the audit finds a consent record with the ID token of another person',
    file: AUDIT_PROOFS,
    text: '...(isOf(person) ?',
    broken: '...(person.sub !== undefined ?',
    test: auditing('finds one with the ID token of another person')
  },
  {
    guard: 'the audit finds a consent record with the statement of another person',
    file: AUDIT_PROOFS,
    text: '...(isOf(owner) ?',
    broken: '...(owner.sub !== undefined ?',
    test: auditing('finds one with the statement of another person')
  },
  {
    guard: 'the audit finds a consent record with the statement of another wallet',
    file: AUDIT_PROOFS,
    text: '...(walletAddress === prover.walletAddress',
    broken: '...(walletAddress !== undefined',
    test: auditing('finds one with the statement of another wallet')
  },
  {
    guard: 'the audit compares whole items with what the last act left',
    file: AUDIT_ACTS,
    text: 'isDeepStrictEqual(itemsOf(left), itemsOf(found))',
    broken: 'itemsOf(left).length === itemsOf(found).length',
    test: auditing('finds the receiver')
  },
  {
    guard: 'the audit finds what changed between two acts',
    file: AUDIT_ACTS,
    text: 'if (previous_after !== null) found',
    broken: 'if (previous_after === undefined) found',
    test: auditing('finds what was changed between two acts')
  },
  {
    guard: 'the audit finds a pause that ended without an act',
    file: AUDIT_ACTS,
    text: 'pauseOf(found) === pauseOf(left)',
    broken: 'pauseOf(found) !== Infinity',
    test: auditing('finds a pause, and one that nobody resumed')
  },
  {
    guard: 'the audit finds a lowering that changed more than amounts',
    file: AUDIT_ACTS,
    text: 'isDeepStrictEqual(was.map(withoutAmounts), is.map(withoutAmounts)) &&',
    broken: '',
    test: auditing('finds a lowering that changed the interval')
  },
  {
    guard: 'the audit finds a stopped grant that goes on',
    file: AUDIT_ACTS,
    text: "if (kind === 'stopped' && state !== 'revoked')",
    broken: "if (kind === 'stopped' && state === 'pending')",
    test: auditing('finds a stopped grant that goes on')
  },
  {
    guard: 'the audit finds a payment that was charged after a stop',
    file: 'services/auth-server/src/features/audit-limits/audit-limits.ts',
    text: "where act.kind = 'stopped' and r.state in",
    broken: "where act.kind = 'stopped' and false and r.state in",
    test: auditing('finds a payment that was charged after a stop')
  },
  {
    guard: 'what proved a resumption is kept',
    file: RESUME,
    text: 'proof: { ...proof, document, after: lastAct?.id }',
    broken: "proof: { ...proof, document, after: lastAct?.id, ...{ ownership: '' } }",
    test: resuming('is done by the person of the ID token, and what it is about is told before')
  },
  {
    guard: 'the audit finds a resumption that was to be proved and has no proof',
    file: AUDIT_ACTS,
    text: 'return step.needs_proof ?',
    broken: 'return step.needs_proof && found.length > 0 ?',
    test: auditing('finds one that was to be proved, without its id_token')
  },
  {
    guard: 'the audit finds a resumption with the proof of another act',
    file: AUDIT_ACTS,
    text: '|| after !== step.previous_id',
    broken: '',
    test: auditing('finds one with the proof of another act before it')
  },
  {
    guard: 'the audit finds a resumption of what another person consented to',
    file: AUDIT_ACTS,
    text: 'const found = step.is_consent_of_another ?',
    broken: 'const found = step.act_id === step.grant_id ?',
    test: auditing('finds one by another person than whoever consented, however it is proved')
  }
]
