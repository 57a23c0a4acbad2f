import type { Shown } from './money-state.js'

/** Rows of a sequence, as {@link LOOK} finds them. Numbers of arbitrary size are text. */
export interface FoundMoney {
  readonly accounts: readonly [
    name: string,
    balance: string,
    held: string,
    available: string,
    frozen: boolean
  ][]
  readonly incoming: readonly [id: string, state: string, received: string, refunded: string][]
  readonly payments: readonly [id: string, state: string, reason: string, sent: string, refunded: string][]
  readonly refunds: readonly [
    id: string,
    state: string,
    taken: string,
    returned: string,
    returnedFee: string
  ][]
  readonly decisions: readonly [id: string, decision: string][]
  readonly peer: readonly [owes: string, isOwed: string, mayOwe: string, mayBeOwed: string]
  readonly elsewhere: readonly [
    id: string,
    state: string,
    begun: boolean,
    attempts: number,
    unknown: string,
    leased: boolean
  ][]
  readonly told: readonly [id: string, type: string][]
}

/** Everything of some accounts, wallet addresses and what belongs to them (1: ids), at an instant (2), in one snapshot. */
export const LOOK = `
  with incoming as (select * from incoming_payment where wallet_address_id = any($1)),
       outgoing as (select * from outgoing_payment where wallet_address_id = any($1)),
       refunds as (select f.* from refund f join outgoing on outgoing.id = f.refund_of),
       told as (select 1 as published, number as place, type, subject_id from event where subject_id = any($1)
                union all select 2, place, type, subject_id from event_outbox where subject_id = any($1))
  select json_build_object(
    'accounts', (
      select json_agg(json_build_array(name, (credits_posted - debits_posted)::text, debits_pending::text,
                        (credits_posted - debits_posted - debits_pending)::text, frozen_at is not null))
        from account where id = any($1)),
    'incoming', (
      select coalesce(json_agg(json_build_array(id,
               case when completed then 'completed' when expires_at <= $2 then 'expired' else 'pending' end, received_value::text,
               (select coalesce(sum(coalesce(settled_value, value)), 0)::text from refunds f where f.incoming_payment_id = i.id))), '[]')
        from incoming i),
    'payments', (
      select coalesce(json_agg(json_build_array(id, state, coalesce(failure_reason::text, ''), settled_debit_value::text,
                                 refunded_value::text)), '[]')
        from outgoing),
    'decisions', (
      select coalesce(json_agg(json_build_array(payment_id, coalesce(decision, ''))), '[]')
        from payment_approval join outgoing on outgoing.id = payment_id),
    'refunds', (
      select coalesce(json_agg(json_build_array(id, state, coalesce(settled_value, 0)::text, coalesce(returned_value, 0)::text,
                                 returned_fee_value::text)), '[]')
        from refunds),
    'peer', (
      select json_build_array((theirs.debits_posted - theirs.credits_posted)::text, (ours.credits_posted - ours.debits_posted)::text,
                               coalesce(receivable_limit_value::text, ''), coalesce(payable_limit_value::text, ''))
        from peer join account theirs on theirs.id = receivable_account_id join account ours on ours.id = payable_account_id
       where peer.id = any($1)),
    'elsewhere', (
      select coalesce(json_agg(json_build_array(o.id, o.state, s.payment_id is not null, coalesce(s.attempts, 0),
               (select coalesce(sum(send_value), 0)::text from sent_packet p where p.payment_id = o.id and outcome = 'unknown'),
               s.leased_by is not null)), '[]')
        from outgoing o left join sending s on s.payment_id = o.id where o.peer_id is not null),
    'told', (select json_agg(json_build_array(subject_id, type) order by published, place) from told)) as found`

/** What the model calls what is found. */
export interface FoundNames {
  ownerOf(accountName: string): string
  numberOf(id: string): number
  subjectOf(eventType: string, id: string): string
  /** What the receiver of a payment at the other provider has. */
  receivedElsewhere(payment: number): bigint
}

/** What was found, as the model shows it. */
export function shownAs(found: FoundMoney, names: FoundNames): Shown {
  const { accounts, incoming, payments, decisions, refunds, peer, elsewhere, told } = found
  const appended: Record<string, string[]> = {}
  for (const [id, type] of told)
    if (type !== 'account.created') (appended[names.subjectOf(type, id)] ??= []).push(type)
  return {
    accounts: Object.fromEntries(
      accounts.map(([name, balance, held, available, frozen]) => [
        names.ownerOf(name),
        [BigInt(balance), BigInt(held), BigInt(available), frozen]
      ])
    ) as unknown as Shown['accounts'],
    incoming: byNumber(incoming, ([id, state, received, refunded]) => [
      names.numberOf(id),
      [state, BigInt(received), BigInt(refunded)]
    ]),
    payments: byNumber(payments, ([id, state, reason, sent, refunded]) => [
      names.numberOf(id),
      [state, reason, BigInt(sent), BigInt(refunded)]
    ]),
    decisions: byNumber(decisions, ([id, decision]) => [names.numberOf(id), decision]),
    refunds: byNumber(refunds, ([id, state, taken, returned, returnedFee]) => [
      names.numberOf(id),
      [state, BigInt(taken), BigInt(returned), BigInt(returnedFee)]
    ]),
    peer: [BigInt(peer[0]), BigInt(peer[1]), peer[2], peer[3]],
    sending: byNumber(
      elsewhere.filter(([, state]) => state === 'pending'),
      ([id, , begun, attempts, unknown, leased]) => [
        names.numberOf(id),
        [begun, attempts, BigInt(unknown), leased]
      ]
    ),
    elsewhere: byNumber(elsewhere, ([id]) => [
      names.numberOf(id),
      names.receivedElsewhere(names.numberOf(id))
    ]),
    events: appended
  }
}

/** Of a list, by number. */
export function byNumber<Item, Value>(
  items: readonly Item[],
  map: (item: Item) => readonly [number, Value]
): Record<number, Value> {
  return Object.fromEntries(items.map(map))
}
