import type { ConnectedSystem } from '@open-payments-server/acceptance'
import { callUnary } from '@open-payments-server/grpc-transport'
import { repeatedly } from './repeatedly.js'

/** Payments of alice await approval if they debit more than this. */
const ABOVE = 101n
/** Debits of payments that await approval, by what the provider does about them. */
export const AWAITING = { approved: 102n, declined: 103n, undecided: 104n, disputed: 105n } as const
/** Pause between two looks at what awaits approval. */
const PAUSE_MS = 50

/** Lets payments above {@link ABOVE} await approval. */
export async function requestApprovals({ operator, walletAddresses }: ConnectedSystem): Promise<void> {
  await callUnary(
    operator,
    'createApprovalRule',
    {
      aboveValue: ABOVE.toString(),
      walletAddress: walletAddresses.alice,
      client: '',
      firstPayee: false,
      method: ''
    },
    { idempotent: false }
  )
}

/**
 * Decides about payments that await approval, as a provider's risk system does: again and again, until each is decided. Some it
 * approves and declines at once, and about some it never decides.
 *
 * @returns ends it
 */
export function decideAboutPayments(system: ConnectedSystem): () => Promise<void> {
  const decide = async (id: string, debit: bigint): Promise<void> => {
    const request = {
      outgoingPayment: `${system.resourceServerUrl}/outgoing-payments/${id}`,
      reason: 'a test'
    }
    const methods = [
      ...(debit === AWAITING.declined ? [] : (['approvePayment'] as const)),
      ...(debit === AWAITING.declined || debit === AWAITING.disputed ? (['declinePayment'] as const) : [])
    ]
    // A lost answer, or the other decision: the audit finds out whether there was one outcome.
    await Promise.allSettled(
      methods.map((method) =>
        callUnary(system.operator, method, request, { idempotent: true, deadlineMs: 2_000 })
      )
    )
  }
  return repeatedly(async () => {
    const waiting = await system.resourceDatabase.query<{ id: string; debit_value: string }>(
      `select id, debit_value::text from outgoing_payment where state = 'awaiting_approval'`
    )
    await Promise.all(
      waiting
        .map(({ id, debit_value: debit }) => ({ id, debit: BigInt(debit) }))
        .filter(({ debit }) => debit !== AWAITING.undecided)
        .map(({ id, debit }) => decide(id, debit))
    )
  }, PAUSE_MS)
}

/** Decisions of the provider that are not recorded once as what an operator did, and records of decisions that there are not; in words. */
export async function findUnrecordedDecisions({
  resourceDatabase,
  resourceServerUrl
}: ConnectedSystem): Promise<string[]> {
  const rows = await resourceDatabase.query<{ payment_id: string; decision: string | null; acts: string }>(
    `select a.payment_id, a.decision, count(o.id)::text as acts
       from payment_approval a
       left join operator_action o on o.subject = $1 || a.payment_id and o.outcome = 'done'
      group by a.payment_id, a.decision
     having count(o.id) <> case when a.decision in ('approved', 'declined') then 1 else 0 end`,
    [`${resourceServerUrl}/outgoing-payments/`]
  )
  return rows.map(
    ({ payment_id: id, decision, acts }) => `payment ${id}: ${decision ?? 'undecided'}, with ${acts} acts`
  )
}
