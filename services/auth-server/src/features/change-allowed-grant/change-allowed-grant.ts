import { instantText, inTransaction, Statement } from '@open-payments-server/database'
import type { Clock } from '@open-payments-server/value-types/clock'
import { newId, type Random } from '@open-payments-server/value-types/identifiers'
import { intervalIndexAt } from '@open-payments-server/value-types/intervals'
import type { ActingHolder, AllowedGrant, GrantActKind } from '../../domain/allowed-grants.js'
import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import type { DocumentedProof } from '../../domain/consent-proof.js'
import type { GrantCounters } from '../../domain/counters.js'
import { checkEnd, isSameAccess, lowerAccess, type LoweredLimits } from '../../domain/lowering.js'
import type { RevocationBus } from '../../domain/revocations.js'
import type { GrantedAccessItem } from '../../domain/token-record.js'
import { type Database, Prisma, type Queries } from '../../modules/database.js'
import { appended } from '../../modules/events/index.js'
import {
  actedGrants,
  findActs,
  grantActEvents,
  grantActValues,
  heldGrants,
  insertedGrantActs,
  loweredItems,
  storeAccessItem,
  type Terms
} from '../../modules/grants/index.js'
import { COUNTED, loweredWindows } from '../../modules/limits/index.js'
import { findAllowedGrant } from '../allowed-grants.js'

/** What changing grants for their account holders needs. */
export interface ChangeAllowedGrantDependencies {
  readonly database: Database
  readonly revocations: Pick<RevocationBus, 'publish'>
  readonly clock: Clock
  readonly random: Random
  readonly counters: Pick<GrantCounters, 'countGrant'>
  /** Signals that there are events to publish. */
  readonly onEventsAppended: () => void
}

/** A proof that counts while nothing else was done. */
interface ProofAfterAct extends DocumentedProof {
  /** The act that must still be the last one (UUID); undefined before the first one. */
  readonly after: string | undefined
}

/** What an account holder wants of a grant. */
export type WantedChange =
  | { readonly kind: 'paused' }
  | {
      readonly kind: 'resumed'
      /** Whether what is paused is resumed only with a proof. */
      readonly needsProof: boolean
      /** What proved that this is wanted; undefined without a proof. */
      readonly proof?: ProofAfterAct | undefined
      /** The last act that whoever wants it was shown (UUID; empty for none), which must still be the last one; undefined for any. */
      readonly seenActId?: string | undefined
    }
  | {
      readonly kind: 'lowered'
      readonly limits: readonly LoweredLimits[]
      /** undefined leaves it as it is. */
      readonly endsAtMs: number | undefined
    }

/** How far the clocks of two replicas may be apart, in milliseconds: one lowers, and another one still charges to the last interval. */
const CLOCKS_APART_MAX_MS = 60_000

// What the account holder wants is decided between two statements: the first locks the grant, so that nothing is decided by terms that
// another act has just changed.
const HOLD = new Statement('hold-grant', heldGrants, { prepared: false })

/** One statement for everything that is in force together, with the event of it. */
const CHANGE = new Statement(
  'change-allowed-grant',
  Prisma.sql`
  with ${actedGrants}, ${loweredItems}, ${loweredWindows}, ${insertedGrantActs(COUNTED)}, ${appended(grantActEvents)}
  select grant_id from acted_grant`,
  { prepared: false }
)

/**
 * Pauses, resumes or lowers a grant for whoever holds its wallet address, and tells everyone who caches answers about its tokens.
 * It is in force once this returns: a reservation whose statement begins later meets it. Repeating it has no further effect.
 *
 * @param grantId its id (UUID)
 * @returns the grant after it
 * @throws CallRefused `not-found`, also for a grant of another wallet address; `grant-ended`; `consent-of-another` when it would be
 *   resumed; `invalid` naming the field that would allow more, the proof that is of something else, or the act that is no longer the last
 *   one; `untold`: it is done, and repeating the call tells it again
 */
export async function changeAllowedGrant(
  acting: ActingHolder,
  grantId: string,
  wanted: WantedChange,
  dependencies: ChangeAllowedGrantDependencies
): Promise<AllowedGrant> {
  const { database, clock, revocations, counters, onEventsAppended } = dependencies
  const changed = await inTransaction(database, async (transaction: Queries) => {
    await HOLD.rows(transaction, { grantId })
    const grant = await findAllowedGrant(transaction, acting, grantId, clock.now())
    return change(transaction, grant, acting, wanted, dependencies)
  })
  if (changed) {
    onEventsAppended()
    counters.countGrant(wanted.kind)
  }
  try {
    await revocations.publish({ kind: 'changed-grant', grantId })
  } catch (cause) {
    const message = 'It is done, but not every service could be told: repeat the call'
    throw new CallRefused('untold', message, { cause })
  }
  return findAllowedGrant(database, acting, grantId, clock.now())
}

/** @returns whether anything changed */
async function change(
  on: Queries,
  grant: AllowedGrant,
  { issuer, sub }: ActingHolder,
  wanted: WantedChange,
  { clock, random }: ChangeAllowedGrantDependencies
): Promise<boolean> {
  if (grant.state === 'ended')
    throw new CallRefused('grant-ended', 'The grant has ended', { field: 'grant_id' })
  if (wanted.kind === 'resumed' && grant.isConsentOfAnother) throw consentOfAnother()
  const nowMs = clock.now()
  const before = termsOf(grant)
  const after = decide(grant, before, wanted, nowMs)
  if (after === undefined) return false
  if (wanted.kind === 'resumed') await assertWantedNow(on, grant.id, wanted)
  const kind: GrantActKind = wanted.kind
  const act = {
    ...{ id: newId(clock, random), grantId: grant.id, kind, holder: { issuer, sub }, before, after },
    proof: wanted.kind === 'resumed' ? wanted.proof : undefined,
    needsProof: wanted.kind === 'resumed' && wanted.needsProof
  }
  await CHANGE.rows(on, {
    ...grantActValues(act),
    pausedAt: after.pausedAtMs === undefined ? null : instantText(after.pausedAtMs),
    endsAt: after.endsAtMs === undefined ? null : instantText(after.endsAtMs),
    lowered: JSON.stringify(loweredRecords(before, after, nowMs)),
    now: instantText(nowMs)
  })
  return true
}

/** The grant is locked: an act that came in between was of somebody who saw something else. */
async function assertWantedNow(
  on: Queries,
  grantId: string,
  { needsProof, proof, seenActId }: Extract<WantedChange, { readonly kind: 'resumed' }>
): Promise<void> {
  const [lastAct] = await findActs(on, grantId, 1)
  if (needsProof && (lastAct === undefined || lastAct.id !== proof?.after))
    throw invalidCallField('id_token', 'must be about the grant after the last act on it')
  if (seenActId !== undefined && lastAct?.id !== seenActId)
    throw invalidCallField('seen_act_id', 'must be the last act on the grant')
}

function consentOfAnother(): CallRefused {
  const message =
    'Somebody else consented to the grant when they held the wallet: it can be paused, lowered and stopped'
  return new CallRefused('consent-of-another', message, { field: 'grant_id' })
}

function termsOf({ access, endsAtMs, pausedAtMs }: AllowedGrant): Terms {
  return { access: access.map(({ item }) => item), endsAtMs, pausedAtMs }
}

/** @returns undefined when the terms are as wanted already */
function decide(grant: AllowedGrant, before: Terms, wanted: WantedChange, nowMs: number): Terms | undefined {
  switch (wanted.kind) {
    case 'paused':
      return before.pausedAtMs === undefined ? { ...before, pausedAtMs: nowMs } : undefined
    case 'resumed':
      return before.pausedAtMs === undefined ? undefined : { ...before, pausedAtMs: undefined }
    case 'lowered': {
      const access = lowerAccess(before.access, wanted.limits)
      const { endsAtMs } = wanted
      if (endsAtMs !== undefined) checkEnd(endsAtMs, before.endsAtMs, nowMs)
      const isSameEnd = endsAtMs === undefined || endsAtMs === before.endsAtMs
      if (isSameEnd && isSameAccess(before.access, access)) return undefined
      return { ...before, access, endsAtMs: endsAtMs ?? before.endsAtMs }
    }
  }
}

/** The items whose limits change, and the first interval to which a payment may still be charged. */
function loweredRecords(before: Terms, after: Terms, nowMs: number): object[] {
  return after.access
    .filter((item, index) => !isSameAccess([item], before.access.slice(index, index + 1)))
    .map((item: GrantedAccessItem) => {
      const { id, interval } = item
      const fromIndex =
        interval === undefined ? 0n : (intervalIndexAt(interval, nowMs - CLOCKS_APART_MAX_MS) ?? 0n)
      return { id, fromIndex: fromIndex.toString(), ...storeAccessItem(item) }
    })
}
