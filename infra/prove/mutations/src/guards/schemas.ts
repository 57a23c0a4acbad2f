import type { Mutation } from '../mutation.js'

const AUTH = 'services/auth-server/prisma/migrations/20261121000000_grants_tokens_and_limits/migration.sql'
const WALLET =
  'services/resource-server/prisma/migrations/20261121000000_wallets_payments_and_ledger/migration.sql'
const PEERS = 'services/resource-server/prisma/migrations/20261127000000_peers/migration.sql'
const AUTH_TEST = 'services/auth-server/test/constraints.test.ts'
const WALLET_TEST = 'services/resource-server/test/constraints.test.ts'

/** Database constraints, which hold whatever the code does. */
export const SCHEMA_GUARDS: readonly Mutation[] = [
  {
    guard: "a window's debited total stays between zero and its limit",
    file: AUTH,
    text: 'check (spent_debit_value >= 0 and spent_debit_value <= coalesce(limit_debit_value, 18446744073709551615))',
    broken: 'check (true)',
    test: { file: AUTH_TEST, title: 'a window that counts more as debited than its limit' }
  },
  {
    guard: "a window's received total stays between zero and its limit",
    file: AUTH,
    text: 'check (spent_receive_value >= 0 and spent_receive_value <= coalesce(limit_receive_value, 18446744073709551615))',
    broken: 'check (true)',
    test: { file: AUTH_TEST, title: 'a window that counts more as received than its limit' }
  },
  {
    guard: 'no settlement exceeds its reservation',
    file: AUTH,
    text: 'and settled_debit_value between 0 and debit_value and settled_receive_value between 0 and receive_value),',
    broken: '),',
    test: { file: AUTH_TEST, title: 'a reservation that is settled with more than was reserved' }
  },
  {
    guard: 'every open or settled reservation belongs to a window',
    file: AUTH,
    text: "state not in ('open', 'settled')\n    or",
    broken: 'true or',
    test: { file: AUTH_TEST, title: 'an open reservation in no window' }
  },
  {
    guard: 'every refusal has a reason',
    file: AUTH,
    text: "check ((state = 'refused') = (refusal_reason is not null))",
    broken: 'check (true)',
    test: { file: AUTH_TEST, title: 'a refusal without a reason' }
  },
  {
    guard: 'a grant has at most one live token',
    file: AUTH,
    text: 'create unique index access_token_one_living_per_grant',
    broken: 'create index access_token_one_living_per_grant',
    test: { file: AUTH_TEST, title: 'a second living token of one grant' }
  },
  {
    guard: 'spent amounts are never deleted with their grant',
    file: AUTH,
    text: 'references access_item (id) on delete restrict',
    broken: 'references access_item (id) on delete cascade',
    test: { file: AUTH_TEST, title: 'to delete a grant under which money moved' }
  },
  {
    guard: 'no wallet spends or holds more than its balance',
    file: WALLET,
    text: "check (kind <> 'wallet' or credits_posted - debits_posted - debits_pending >= 0)",
    broken: 'check (true)',
    test: { file: WALLET_TEST, title: 'a wallet that has spent more than it has' }
  },
  {
    guard: 'a payment id has one outcome row, so no payment is created after its tombstone',
    file: WALLET,
    text: `create table grant_reservation (
  payment_id uuid primary key,`,
    broken: `create table grant_reservation (
  payment_id uuid not null,`,
    test: {
      file: 'services/resource-server/test/reservation-outcomes.test.ts',
      title: 'whose request was only slow: the tombstone wins, 503, and nothing is paid'
    }
  },
  {
    guard: 'exactly the wallet accounts have names',
    file: WALLET,
    text: "check ((kind = 'wallet') = (name is not null))",
    broken: 'check (true)',
    test: { file: WALLET_TEST, title: 'a wallet without a name' }
  },
  {
    guard: 'no wallet total is negative',
    file: WALLET,
    text: 'check (debits_posted >= 0 and credits_posted >= 0 and debits_pending >= 0)',
    broken: 'check (true)',
    test: { file: WALLET_TEST, title: 'a wallet that holds less than nothing' }
  },
  {
    guard: "the provider's accounts keep no totals",
    file: PEERS,
    text: 'or (debits_posted = 0 and credits_posted = 0 and debits_pending = 0)) not valid',
    broken: 'or true) not valid',
    test: { file: WALLET_TEST, title: "totals in the provider's own accounts, which are added up" }
  },
  {
    guard: 'no incoming payment receives more than its maximum',
    file: WALLET,
    text: 'received_value >= 0 and received_value <= coalesce(incoming_value, 18446744073709551615)',
    broken: 'true',
    test: { file: WALLET_TEST, title: 'an incoming payment that received more than its maximum' }
  },
  {
    guard: 'a full incoming payment is completed',
    file: WALLET,
    text: 'check (incoming_value is null or received_value < incoming_value or completed)',
    broken: 'check (true)',
    test: { file: WALLET_TEST, title: 'an incoming payment that is full and goes on' }
  },
  {
    guard: 'a completed payment has sent and delivered everything',
    file: WALLET,
    text: "when 'completed' then settled_debit_value = debit_value and settled_receive_value = receive_value and failure_reason is null",
    broken: "when 'completed' then true",
    test: { file: WALLET_TEST, title: 'a payment that is completed and has not sent everything' }
  },
  {
    guard: 'no payment sends more than its debit',
    file: WALLET,
    text: 'and settled_debit_value between 0 and debit_value and settled_receive_value between 0 and receive_value',
    broken: '',
    test: { file: WALLET_TEST, title: 'a payment that sent more than its debit' }
  },
  {
    guard: 'a quote is used once',
    file: WALLET,
    text: 'create unique index outgoing_payment_quote_id_key',
    broken: 'create index outgoing_payment_quote_id_key',
    test: { file: WALLET_TEST, title: 'a second payment from one quote' }
  },
  {
    guard: 'a signed request pays once, under any idempotency key',
    file: WALLET,
    text: 'create unique index outgoing_payment_signature_id_key',
    broken: 'create index outgoing_payment_signature_id_key',
    test: {
      file: 'services/resource-server/test/outgoing-payment-replays.test.ts',
      title: 'is still the same when a header that no signature covers makes it look like another'
    }
  },
  {
    guard: 'an outcome is complete',
    file: WALLET,
    text: "(outcome is not distinct from 'settle') = (settled_debit_value is not null) and (settled_debit_value is null) = (settled_receive_value is null)",
    broken: 'true',
    test: { file: WALLET_TEST, title: 'a settlement of an unknown amount' }
  },
  {
    guard: 'the code and scale of an asset with accounts never change',
    file: WALLET,
    text: 'foreign key (asset_id, asset_code, asset_scale) references asset (id, code, scale)',
    broken: 'foreign key (asset_id) references asset (id)',
    test: { file: WALLET_TEST, title: 'another scale for an asset that has accounts' }
  },
  {
    guard: 'every transfer stays in one asset',
    file: WALLET,
    text: 'foreign key (credit_account_id, asset_id, credit_account_kind) references account (id, asset_id, kind)',
    broken: 'foreign key (credit_account_id) references account (id)',
    test: { file: WALLET_TEST, title: 'a transfer to an account in another asset' }
  },
  {
    guard: 'no transfer is posted with more than its amount',
    file: WALLET,
    text: "when 'posted' then posted_amount between 1 and amount and ended_at is not null",
    broken: "when 'posted' then ended_at is not null",
    test: { file: WALLET_TEST, title: 'a transfer that is posted with more than its amount' }
  },
  {
    guard: 'what comes from a peer is taken from what it owes',
    file: PEERS,
    text: "when 'receipt' then debit_account_kind::text = 'peer_receivable' and credit_account_kind in ('wallet', 'exchange')",
    broken: "when 'receipt' then true",
    test: { file: WALLET_TEST, title: 'a receipt from alice to bob' }
  },
  {
    guard: 'what a peer settles comes from outside',
    file: PEERS,
    text: "when 'settlement_received' then debit_account_kind = 'outside' and credit_account_kind::text = 'peer_receivable'",
    broken: "when 'settlement_received' then true",
    test: { file: WALLET_TEST, title: 'a settlement_received from alice to outside' }
  }
]
