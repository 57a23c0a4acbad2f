import { Statement } from '@open-payments-server/database'
import type { Acting } from '@open-payments-server/service-kit/operators'
import type { Approval, ApprovalAnswer } from '../../domain/approval.js'
import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import {
  approving,
  decided,
  decidingParameters,
  declining,
  isAnyOverdue,
  type NewDecision,
  overdue
} from '../../modules/approvals/index.js'
import { Prisma, type Queries } from '../../modules/database.js'
import { appended } from '../../modules/events/index.js'
import { determined } from '../../modules/grant-outcomes/index.js'
import { hasUnknownPackets } from '../../modules/interledger/index.js'
import { voided } from '../../modules/ledger/index.js'
import {
  approved,
  approvedEvents,
  declined,
  endedEvents,
  lockedOriginals,
  mayBeSent,
  refundsGivenBack
} from '../../modules/outgoing-payments/index.js'
import { refundEndedEvents, refundsFailed } from '../../modules/refunds/index.js'
import type { DecideDependencies } from './dependencies.js'
import { readPayment, readPaymentId, type ShownPayment } from './show-payment.js'

/** Maximum length of a reason, in characters. */
const REASON_LENGTH_MAX = 1_000

/** An answer of the provider about a payment. */
export interface ApprovalRequest {
  /** URL of the outgoing payment. */
  readonly url: string
  /** Why; empty for no reason. */
  readonly reason: string
  /** Who answers: a person, or the names in a machine's certificate; undefined for a machine in plain text. */
  readonly by: string | undefined
}

/** Whether the payment of the approval `a` may have been sent elsewhere, and its approval lost since. */
const MAY_BE_SENT = mayBeSent(Prisma.sql`a.payment_id`, hasUnknownPackets(Prisma.sql`a.payment_id`))

// The approval is locked first, then the payment, then the one that it refunds, then its hold's account. Of several who decide at
// once, the first has decided when the others get the lock, and these find nothing to decide. Either all that belongs to a decision
// changes or nothing: where a part would not, PostgreSQL cannot read the text that says so as an integer, which fails the statement.
const APPROVE = new Statement<DecidedRow>(
  'approve-outgoing-payment',
  Prisma.sql`
  with ${approving(MAY_BE_SENT)}, ${approved}, ${decided}, ${appended(approvedEvents)}
  select ${decidedAlike(Prisma.sql`('payments', (select count(*) from deciding), (select count(*) from payment)),
           ('approvals', (select count(*) from deciding), (select count(*) from decided))`)}
    from (select count(*) from deciding) counted`
)

/** What is declined, once the payments that it was to refund are locked: before accounts are, as everywhere. */
const DECLINED_IDS = Prisma.sql`array(select id from ending where (select count(*) from counted) >= 0)`

/** The same for declining: it ends the payment, and the refund that it makes, as processing does where nothing is sent. */
const ending = (chosen: Prisma.Sql): Prisma.Sql => Prisma.sql`
  with ${chosen}, ${declined}, ${determined}, ${refundsFailed}, ${lockedOriginals(Prisma.sql`array(select refund_of from refunding)`)},
       ${refundsGivenBack}, ${voided(DECLINED_IDS)}, ${decided},
       ${appended(Prisma.sql`${endedEvents} union all ${refundEndedEvents}`)}
  select ${decidedAlike(Prisma.sql`('payments', (select count(*) from deciding), (select count(*) from payment)),
           ('approvals', (select count(*) from deciding), (select count(*) from decided)),
           ('reservations', (select count(*) from deciding), (select count(*) from reservation)),
           ('refunds', (select count(refund_of) from payment), (select count(*) from refunding)),
           ('refunded payments', (select count(distinct refund_of) from payment), (select count(*) from counted)),
           ('holds', (select count(*) from reservation where held), (select count(*) from hold)),
           ('totals', (select count(distinct debit_account_id) from hold), (select count(*) from total))`)}
    from (select count(*) from deciding) counted`

const DECLINE = new Statement<DecidedRow>('decline-outgoing-payment', ending(declining(MAY_BE_SENT)))
const DECLINE_OVERDUE = new Statement<DecidedRow>('decline-overdue-payments', ending(overdue(MAY_BE_SENT)))

interface DecidedRow {
  /** Number of payments that were decided about. */
  readonly count: number
}

/** Fragment: the columns of a {@link DecidedRow}; fails where a part changed more or fewer rows than wanted. */
function decidedAlike(parts: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`counted.count::integer as count,
         (select string_agg(format('deciding must change %s %s, and would change %s', wanted, name, changed), '; ')::integer
            from (values ${parts}) as part (name, wanted, changed) where changed <> wanted) as wrong`
}

/**
 * Approves a payment that awaits approval: it becomes pending, and is processed at once. Repeating it has no further effect.
 *
 * @returns the payment after it
 * @throws CallRefused `invalid`; `not-found`; `not-possible` for a payment that met no rule, or was declined
 */
export function approvePayment(
  request: ApprovalRequest,
  dependencies: DecideDependencies & Acting
): Promise<ShownPayment> {
  return decide('approved', request, dependencies)
}

/**
 * Declines a payment that awaits approval: it fails, its money is available again, and its reservation is released. Repeating it has
 * no further effect, also where it was declined because nobody decided in time.
 *
 * @returns the payment after it
 * @throws CallRefused `invalid`; `not-found`; `not-possible` for a payment that met no rule, or was approved, or may have been before the database
 *   lost commits
 */
export function declinePayment(
  request: ApprovalRequest,
  dependencies: DecideDependencies & Acting
): Promise<ShownPayment> {
  return decide('declined', request, dependencies)
}

async function decide(
  answer: ApprovalAnswer,
  { url, reason, by }: ApprovalRequest,
  dependencies: DecideDependencies & Acting
): Promise<ShownPayment> {
  const { database, clock } = dependencies
  const id = readPaymentId(url, dependencies)
  const decision = { decision: answer, by, reason: readReason(reason), atMs: clock.now() }
  const changed = await write(
    answer === 'approved' ? APPROVE : DECLINE,
    decision,
    { id, isOver: false },
    database
  )
  if (changed > 0) announce(answer, changed, dependencies)
  else dependencies.onUnchanged()
  const shown = await readPayment(id, dependencies)
  requireAnswer(answer, shown)
  return shown
}

/** @throws CallRefused `not-possible` when something else was decided */
function requireAnswer(answer: ApprovalAnswer, { payment, approval }: ShownPayment): void {
  if (approval === undefined)
    throw notPossible(`the payment met no rule, so there is nothing to decide: it is ${payment.state}`)
  const { decided: given } = approval
  if (given === undefined)
    throw notPossible(
      answer === 'declined'
        ? 'it may have been approved and sent before the database lost commits: decide about its packets first'
        : 'nobody has decided yet: try again'
    )
  if ((given.decision === 'approved') !== (answer === 'approved'))
    throw notPossible(`the payment was ${describeDecision(given)}`)
}

function notPossible(message: string): CallRefused {
  return new CallRefused('not-possible', message, { field: 'outgoing_payment' })
}

function describeDecision({ decision, atMs, by }: NonNullable<Approval['decided']>): string {
  const at = new Date(atMs).toISOString()
  if (decision === 'timed_out') return `declined at ${at}, because nobody decided in time`
  return `${decision} at ${at}${by === undefined ? '' : ` by ${by}`}`
}

/**
 * Declines a payment if its time is over, so that whoever decides too late finds it declined, even if no worker has done so yet.
 *
 * @param url of the outgoing payment
 * @throws CallRefused `invalid`
 */
export async function declineIfOverdue(url: string, dependencies: DecideDependencies): Promise<void> {
  const { database, clock } = dependencies
  const id = readPaymentId(url, dependencies)
  const changed = await write(DECLINE, timeOut(clock.now()), { id, isOver: true }, database)
  if (changed > 0) announce('timed_out', changed, dependencies)
}

/**
 * Declines payments that nobody decided about in time, the oldest first.
 *
 * @returns the number of payments that it declined, up to the limit
 */
export async function declineOverdue(limit: number, dependencies: DecideDependencies): Promise<number> {
  const { database, clock } = dependencies
  const decision = timeOut(clock.now())
  // Most rounds find none, and then touch nothing else.
  if (!(await isAnyOverdue(database, decision.atMs))) return 0
  const changed = await write(DECLINE_OVERDUE, decision, { limit }, database)
  if (changed > 0) announce('timed_out', changed, dependencies)
  return changed
}

function timeOut(atMs: number): NewDecision {
  return { decision: 'timed_out', by: undefined, reason: undefined, atMs }
}

/** @returns the number of payments that were decided about */
async function write(
  statement: Statement<DecidedRow>,
  decision: NewDecision,
  which: Readonly<Record<string, unknown>>,
  on: Queries
): Promise<number> {
  const [row] = await statement.rows(on, { ...decidingParameters(decision), ...which })
  return row?.count ?? 0
}

/** Tells everybody who waits for a decision. */
function announce(
  decision: NewDecision['decision'],
  count: number,
  { counters, logger, ...signals }: DecideDependencies
): void {
  counters.countDecided(decision, count)
  if (decision === 'approved') signals.onPaymentCreated()
  else {
    for (let ended = 0; ended < count; ended += 1) counters.countEnded('failed')
    signals.onReservationEnded()
  }
  if (decision === 'timed_out') logger.warn({ count }, 'payments declined: nobody decided in time')
  signals.onEventsAppended()
}

/** @throws CallRefused `invalid` */
function readReason(reason: string): string | undefined {
  // eslint-disable-next-line no-control-regex -- because control characters are what must not be in a reason
  if (reason.length > REASON_LENGTH_MAX || /[\u0000-\u001f\u007f]/.test(reason)) {
    throw invalidCallField(
      'reason',
      `must be at most ${String(REASON_LENGTH_MAX)} characters, none of them control characters`
    )
  }
  return reason === '' ? undefined : reason
}
