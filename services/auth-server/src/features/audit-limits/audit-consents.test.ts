import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { callUnary } from '@open-payments-server/grpc-transport'
import { formatAccessItem } from '../../domain/access.js'
import {
  ALICE,
  GrpcFixture,
  SHOP,
  spending,
  usd,
  type WrittenGrant
} from '../../../test/support/grpc-fixture.js'

const HOLDER = { issuer: 'https://login.wallet.example', sub: 'alice-1' }
const ACTING = { holder: HOLDER, walletAddresses: [ALICE] }

let auth: GrpcFixture
let grant: WrittenGrant

beforeAll(async () => {
  auth = await GrpcFixture.start()
  // Damage that the database itself would refuse.
  await auth.database.query('alter table grant_act disable trigger user')
  await auth.database.query('alter table consent_record disable trigger user')
  await auth.database.query('alter table consent_record drop constraint consent_record_hash_is_of_document')
  await auth.database.query('alter table limit_window drop constraint limit_window_debit_within_limit')
})
afterAll(() => auth.stop())

/** A grant that was consented to with a proof, of whose 1000 are 300 spent, and that was lowered to 500. */
beforeEach(async () => {
  await auth.database.query('truncate reservation, limit_window, grant_request cascade')
  const item = spending({ debitAmount: usd(1_000n) })
  grant = await auth.grant({ access: [item] })
  await auth.prove(grant, HOLDER, { access: [formatAccessItem(item)], walletAddress: ALICE, client: SHOP })
  await auth.reserve(grant.token, { debit: usd(300n) })
  await callUnary(
    auth.holder,
    'lowerGrant',
    {
      acting: ACTING,
      grantId: grant.grantId,
      limits: [
        {
          accessIndex: 0,
          debitAmount: { value: '500', assetCode: 'USD', assetScale: 2 },
          receiveAmount: undefined
        }
      ],
      endTime: undefined
    },
    { idempotent: false }
  )
})

describe('AuditLimits', () => {
  it('finds nothing wrong with a grant that was proved and lowered', async () => {
    expect(await auth.violations()).toEqual([])
  })

  const ofGrant = (told: string) => () => `Grant ${grant.grantId}: ${told}`
  const [ACT, ITEM] = ['ACT', 'ITEM']

  it.each<[string, string, () => string]>([
    [
      'more that is spent than a lowering left',
      `update limit_window set spent_debit_value = 600, limit_debit_value = 1000`,
      () =>
        `Access item ${ITEM}, interval 0: 600 debited and 100 received, and since act ${ACT} at most 500 and any may be`
    ],
    [
      'an interval that began after a lowering with more than it left',
      `with moved as (update reservation set charged_at = charged_at + interval '1 day')
       update limit_window set limit_debit_value = 1000`,
      () => `limited to 1000 and any, more than act ${ACT} had left`
    ],
    [
      'a limit that was raised after a lowering',
      'update access_item set limit_debit_value = 700',
      ofGrant(`its limits are not those that act ${ACT} left`)
    ],
    [
      'an act that raised a limit',
      `update grant_act set before = jsonb_set(before, '{access,0,limitDebitValue}', '"400"')`,
      ofGrant(`act ${ACT} raised a limit`)
    ],
    [
      'access that nobody consented to',
      `update consent_record set document = replace(document, '"1000"', '"100"')`,
      ofGrant('it was granted other access than its consent record says')
    ],
    [
      'another wallet address than was consented to',
      `update consent_record set document = replace(document, '"walletAddress":"https://wallet.example/alice"', '"walletAddress":"x"')`,
      ofGrant(`its consent record is of x, and ${ALICE} was asked`)
    ],
    [
      'another client than was consented to',
      `update consent_record set document = replace(document, '${SHOP}', 'x')`,
      ofGrant(`its consent record is for x, and its client is ${SHOP}`)
    ],
    [
      'a document whose hash is another',
      `update consent_record set document_hash = sha256('')`,
      ofGrant('the hash of its consent record is not of its document')
    ],
    [
      'a payment after the end that was set',
      `update grant_request set ends_at = '2026-01-01'`,
      () => 'and its grant had ended at 2026-01-01'
    ],
    [
      'a payment during a pause',
      `update grant_act set kind = 'paused', at = '2026-01-01'`,
      () => 'and its grant was paused from 2026-01-01'
    ]
  ])('finds %s', async (_damage, statement, named) => {
    const [act] = await auth.database.query<{ id: string }>('select id from grant_act')
    await auth.database.query(statement)
    const told = named().replace(ACT, String(act?.id)).replace(ITEM, String(grant.itemIds[0]))
    expect(await auth.violations()).toEqual(expect.arrayContaining([expect.stringContaining(told)]))
  })
})
