import { isDeepStrictEqual } from 'node:util'
import { type Amount, isSameAsset } from '@open-payments-server/value-types/amounts'
import type { AccessItem } from '../../domain/access.js'
import type { GrantActKind } from '../../domain/allowed-grants.js'
import { Prisma, type Queries } from '../../modules/database.js'
import { accessOf, restoreAccessItem, type StoredTerms } from '../../modules/grants/index.js'
import { findWrongProof, readDocument } from './audit-proofs.js'
import { findByCursor } from './find-by-cursor.js'

/**
 * Acts of account holders, each with what the act before it left, and the last one with what is in force. Nothing follows a stop, whose
 * instant may be before that of another act by the difference of two clocks.
 */
const ACTS = Prisma.sql`
  select step.id as act_id, step.grant_id, step.kind, step.before, step.after, step.issuer, step.sub, step.needs_proof,
         step.document, step.id_token, step.ownership, step.previous_id, step.previous_after, g.state, i.wallet_address,
         case when step.is_last
              then json_build_object('access', ${accessOf(Prisma.sql`g.id`)}, 'endsAt', g.ends_at, 'pausedAt', g.paused_at)
         end as in_force,
         (c.issuer, c.sub) is distinct from (step.issuer, step.sub) and c.grant_id is not null as is_consent_of_another
    from (select act.*, lag(id) over steps as previous_id, lag(after) over steps as previous_after,
                 lead(id) over steps is null as is_last
            from grant_act act window steps as (partition by grant_id order by kind = 'stopped', at)) step
    join grant_request g on g.id = step.grant_id
    left join interaction i on i.grant_id = step.grant_id
    left join consent_record c on c.grant_id = step.grant_id`

interface Step {
  readonly act_id: string
  readonly grant_id: string
  readonly kind: GrantActKind
  readonly before: StoredTerms
  readonly after: StoredTerms
  readonly issuer: string
  readonly sub: string
  readonly needs_proof: boolean
  readonly document: string | null
  readonly id_token: string | null
  readonly ownership: string | null
  /** Null before the first act. */
  readonly previous_id: string | null
  readonly previous_after: StoredTerms | null
  readonly state: string
  readonly wallet_address: string | null
  /** Null unless it is the last act. */
  readonly in_force: StoredTerms | null
  readonly is_consent_of_another: boolean
}

/**
 * Finds acts that changed more than their kind may, or that nothing proves although it was to be proved; terms that changed without an act; and
 * stopped grants that go on. What is spent is compared with acts elsewhere.
 */
export function findWrongActs(snapshot: Queries, violationsMax: number): Promise<string[]> {
  const inspected = { cursor: 'grant_act_step', rows: ACTS, pageSize: 1_000, findWrong }
  return findByCursor(snapshot, inspected, violationsMax)
}

function findWrong(step: Step): string[] {
  const { act_id, kind, before, after, previous_id, previous_after, in_force, state } = step
  const found = [...findWrongChange(step), ...(kind === 'resumed' ? findWrongResumption(step) : [])]
  if (previous_after !== null) found.push(...findUnacted(String(previous_id), previous_after, before))
  if (in_force !== null) found.push(...findUnacted(act_id, after, in_force))
  if (kind === 'stopped' && state !== 'revoked') found.push(`act ${act_id} stopped it, and it is ${state}`)
  return found.map((wrong) => `Grant ${step.grant_id}: ${wrong}`)
}

/** Only an end may come earlier without an act: when nothing is left of a grant. */
function findUnacted(actId: string, left: StoredTerms, found: StoredTerms): string[] {
  return [
    ...(isDeepStrictEqual(itemsOf(left), itemsOf(found)) ? [] : [`its access is not what act ${actId} left`]),
    ...(endOf(found) <= endOf(left) ? [] : [`it ends later than act ${actId} left`]),
    ...(pauseOf(found) === pauseOf(left) ? [] : [`its pause is not as act ${actId} left it`])
  ]
}

function findWrongChange({ act_id: id, kind, before, after }: Step): string[] {
  const [was, is] = [itemsOf(before), itemsOf(after)]
  const isSameAccess = isDeepStrictEqual(was, is)
  const [isPausedBefore, isPausedAfter] = [pauseOf(before) !== undefined, pauseOf(after) !== undefined]
  const isPauseRight =
    kind === 'paused' || kind === 'resumed'
      ? isPausedBefore === (kind === 'resumed') && isPausedAfter === (kind === 'paused')
      : pauseOf(before) === pauseOf(after)
  const isEndRight = kind === 'lowered' ? endOf(after) <= endOf(before) : endOf(after) === endOf(before)
  return [
    ...(isSameAccess || (kind === 'lowered' && isLowered(was, is))
      ? []
      : [`act ${id} raised a limit, or changed more of its access than amounts`]),
    ...(isEndRight ? [] : [`act ${id}, ${kind}, left another end`]),
    ...(isPauseRight ? [] : [`act ${id}, ${kind}, left another pause`])
  ]
}

/** What resumes it lets it be charged again: as its account holder alone can. */
function findWrongResumption(step: Step): string[] {
  const { act_id: id, document, id_token: idToken, ownership, issuer, sub } = step
  const found = step.is_consent_of_another ? [`act ${id} resumed what another person consented to`] : []
  if (document === null || idToken === null || ownership === null)
    return step.needs_proof ? [...found, `act ${id} was to be proved, and has no proof`] : found
  const wrong = findWrongProof(
    { document, idToken, ownership },
    { issuer, sub, walletAddress: step.wallet_address }
  )
  const { act, grant, after } = readDocument(document)
  if (act !== 'resumed' || grant !== step.grant_id || after !== step.previous_id)
    wrong.push('a document of another act')
  return [...found, ...wrong.map((each) => `act ${id} has ${each}`)]
}

type Item = AccessItem & { readonly id: string }

function itemsOf({ access }: Pick<StoredTerms, 'access'>): readonly Item[] {
  return access.map((stored) => ({ ...restoreAccessItem(stored), id: stored.id }))
}

/** When terms end, in milliseconds since 1970; Infinity without an end. */
export function endOf({ endsAt }: Pick<StoredTerms, 'endsAt'>): number {
  return endsAt === null ? Infinity : Date.parse(endsAt)
}

function pauseOf({ pausedAt }: Pick<StoredTerms, 'pausedAt'>): number | undefined {
  return pausedAt === null ? undefined : Date.parse(pausedAt)
}

/** Whether items differ only by lower amounts, and by limits on what is debited where none were. */
function isLowered(was: readonly Item[], is: readonly Item[]): boolean {
  return (
    isDeepStrictEqual(was.map(withoutAmounts), is.map(withoutAmounts)) &&
    is.every(({ limits }, index) => {
      const { debitAmount, receiveAmount } = was[index]?.limits ?? {}
      return (
        (debitAmount === undefined || isWithin(limits?.debitAmount, debitAmount)) &&
        (receiveAmount === undefined
          ? limits?.receiveAmount === undefined
          : isWithin(limits?.receiveAmount, receiveAmount))
      )
    })
  )
}

function withoutAmounts({ limits, ...item }: Item): object {
  return { ...item, receiver: limits?.receiver, interval: limits?.interval }
}

function isWithin(amount: Amount | undefined, limit: Amount): boolean {
  return amount !== undefined && isSameAsset(amount.asset, limit.asset) && amount.value <= limit.value
}
