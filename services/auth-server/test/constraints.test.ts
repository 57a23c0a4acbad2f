import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { GrpcFixture, spending, usd } from './support/grpc-fixture.js'

let auth: GrpcFixture

beforeAll(async () => {
  auth = await GrpcFixture.start()
  const { token } = await auth.grant({
    access: [spending({ debitAmount: usd(300n), receiveAmount: usd(200n) })]
  })
  await auth.reserve(token)
  await auth.reserve(token, { debit: usd(301n) })
  const unlimited = await auth.grant({ access: [spending()] })
  await auth.reserve(unlimited.token)
})
afterAll(() => auth.stop())

const BEYOND_RANGE = '18446744073709551616'

// Each could be written by a bug in the code, so the database must refuse it.
describe('the database itself refuses', () => {
  it.each<[what: string, statement: string, constraint: string]>([
    [
      'a window that counts more as debited than its limit',
      'update limit_window set spent_debit_value = limit_debit_value + 1 where limit_debit_value is not null',
      'limit_window_debit_within_limit'
    ],
    [
      'a window that counts less than nothing as debited',
      'update limit_window set spent_debit_value = -1',
      'limit_window_debit_within_limit'
    ],
    [
      'a window without a limit that counts more as debited than an amount can be',
      `update limit_window set spent_debit_value = ${BEYOND_RANGE} where limit_debit_value is null`,
      'limit_window_debit_within_limit'
    ],
    [
      'a window that counts more as received than its limit',
      'update limit_window set spent_receive_value = limit_receive_value + 1 where limit_receive_value is not null',
      'limit_window_receive_within_limit'
    ],
    [
      'a window that counts less than nothing as received',
      'update limit_window set spent_receive_value = -1',
      'limit_window_receive_within_limit'
    ],
    [
      'an item that lets others pay from any wallet address',
      'update access_item set identifier = null',
      'access_item_paying_names_its_wallet_address'
    ],
    [
      'a second reservation of one payment',
      'insert into reservation select * from reservation',
      'reservation_pkey'
    ],
    [
      'a reservation that is settled with more than was reserved',
      `update reservation set state = 'settled', settled_debit_value = debit_value + 1, settled_receive_value = 0 where state = 'open'`,
      'reservation_settled_within_reserved'
    ],
    [
      'a reservation that is settled with an unknown amount',
      `update reservation set state = 'settled', settled_debit_value = 0 where state = 'open'`,
      'reservation_settled_within_reserved'
    ],
    [
      'an open reservation in no window',
      `update reservation set access_item_id = null where state = 'open'`,
      'reservation_has_a_window'
    ],
    [
      'a reservation of more than an amount can be',
      `update reservation set debit_value = ${BEYOND_RANGE} where state = 'open'`,
      'reservation_amounts_range'
    ],
    [
      'a refusal without a reason',
      `update reservation set refusal_reason = null where state = 'refused'`,
      'reservation_refusal_has_reason'
    ],
    [
      'a second living token of one grant',
      `insert into access_token select gen_random_uuid(), grant_id, sha256('other'), expires_at, null, null, created_at
         from access_token limit 1`,
      'access_token_one_living_per_grant'
    ],
    [
      'two tokens of one value',
      `insert into access_token select gen_random_uuid(), grant_id, value_hash, expires_at, now(), 'revoked', created_at
         from access_token limit 1`,
      'access_token_value_hash_key'
    ],
    [
      'a token that ended for no reason',
      'update access_token set ended_at = now()',
      'access_token_end_whole'
    ],
    [
      'a limit in no asset',
      'update access_item set limit_debit_code = null where limit_debit_value is not null',
      'access_item_limit_debit_whole'
    ],
    [
      'a limit above what an amount can be',
      `update access_item set limit_debit_value = ${BEYOND_RANGE} where limit_debit_value is not null`,
      'access_item_limit_range'
    ],
    [
      'to delete a grant under which money moved',
      'delete from grant_request where id in (select grant_id from reservation)',
      'limit_window_access_item_id_fkey'
    ],
    [
      'a grant of two clients',
      `update grant_request set client_jwk_thumbprint = 'x' where client_wallet_address is not null`,
      'grant_request_one_client'
    ]
  ])('%s', async (_what, statement, constraint) => {
    await expect(auth.database.query(statement)).rejects.toMatchObject({ constraint })
  })
})
