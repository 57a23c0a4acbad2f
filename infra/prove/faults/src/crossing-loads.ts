import { decideUnknownPackets } from '@open-payments-server/acceptance'
import { countDecided, type CrossingDirection, type DecidedPackets } from './crossing-system.js'
import { differencesBetween, type PaymentLoad } from './payment-load.js'
import { repeatedly } from './repeatedly.js'

/** Pause between two looks at packets of which nothing is known. */
const PAUSE_MS = 250

/** Payments from one provider to the other, by the asset that their receivers have. */
export interface CrossingLoads {
  /** To bob. */
  readonly inDollars: PaymentLoad
  /** To carol. */
  readonly inEuros: PaymentLoad
  /** What all of them are ordered with. */
  readonly token: string
}

/** What those have who pay and are paid. */
export type Balances = Readonly<Record<'alice' | 'bob' | 'carol', bigint>>

/** Reads what those have who pay and are paid. */
export async function balances({ sender, receiver }: CrossingDirection): Promise<Balances> {
  const [alice, bob, carol] = await Promise.all([
    sender.balance('alice'),
    receiver.balance('bob'),
    receiver.balance('carol')
  ])
  return { alice, bob, carol }
}

/**
 * Everything that is wrong once all payments ended: answers, balances, grants and what each provider says that it is owed, compared
 * with payments; and what the audits of both find. One sentence each.
 */
export async function wrongs(
  system: CrossingDirection,
  { loads, before, decided }: { loads: CrossingLoads; before: Balances; decided: DecidedPackets }
): Promise<string[]> {
  const { inDollars, inEuros, token } = loads
  const after = await balances(system)
  const [dollars, euros] = await Promise.all([inDollars.totals(), inEuros.totals()])
  const sent = dollars.sent + euros.sent
  const { owed, due } = await accountsOfPeers(system)
  const found = differencesBetween([
    ['taken from alice', before.alice - after.alice, sent],
    ['given to bob', after.bob - before.bob, dollars.delivered],
    ['spent under the grant', await inDollars.spent([token]), sent],
    ['owed by the sender', owed, due]
  ])
  // Of an unknown packet that arrived, the sender knows only the least that it delivered.
  const more = after.carol - before.carol - euros.delivered
  if (more < 0n || more > BigInt(decided.arrived)) found.push(`carol got ${String(more)} more than is said`)
  const overfull = await system.receiver.resourceDatabase.query<{ id: string }>(
    'select id from incoming_payment where received_value > incoming_value'
  )
  return [
    ...found,
    ...overfull.map(({ id }) => `the incoming payment ${id} received too much`),
    ...(await untruths(loads)),
    ...(await system.sender.audit()).map((violation) => `sender: ${violation}`),
    ...(await system.receiver.audit()).map((violation) => `receiver: ${violation}`)
  ]
}

/** False answers: one sentence each. */
export async function untruths({ inDollars, inEuros }: CrossingLoads): Promise<string[]> {
  return [...(await inDollars.untruths()), ...(await inEuros.untruths())]
}

/** What the sender says that it owes the receiver, and what the receiver says. */
async function accountsOfPeers({
  sender,
  receiver
}: CrossingDirection): Promise<{ owed: bigint; due: bigint }> {
  const query = (side: string): string => `
    select (debits_posted - credits_posted)::text as value from account where id = (select ${side}_account_id from peer)`
  const [payable] = await sender.resourceDatabase.query<{ value: string }>(query('payable'))
  const [receivable] = await receiver.resourceDatabase.query<{ value: string }>(query('receivable'))
  return { owed: -BigInt(payable?.value ?? 1), due: BigInt(receivable?.value ?? 1) }
}

/**
 * Decides about unknown packets again and again.
 *
 * @returns ends it, and tells how many were decided
 */
export async function keepDeciding(system: CrossingDirection): Promise<() => Promise<DecidedPackets>> {
  const before = await countDecided(system)
  const end = repeatedly(() => decideUnknownPackets(system), PAUSE_MS)
  return async () => {
    await end()
    const after = await countDecided(system)
    return { arrived: after.arrived - before.arrived, lost: after.lost - before.lost }
  }
}
