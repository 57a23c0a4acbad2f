import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { callUnary } from '@open-payments-server/grpc-transport'
import { formatAccessItem } from '../../domain/access.js'
import type { Holder } from '../../domain/allowed-grants.js'
import {
  ALICE,
  GrpcFixture,
  proofBy,
  SHOP,
  spending,
  usd,
  type WrittenGrant
} from '../../../test/support/grpc-fixture.js'

const HOLDER = { issuer: 'https://login.wallet.example', sub: 'alice-1' }
const EVE = { ...HOLDER, sub: 'eve-1' }
const END = '2027-01-01T00:00:00.000Z'
const ACTING = { holder: HOLDER, walletAddresses: [ALICE] }
const once = { idempotent: false }

let auth: GrpcFixture
let grant: WrittenGrant

beforeAll(async () => {
  auth = await GrpcFixture.start({
    consentProofs: {
      consentProof: 'required',
      signInRule: () => undefined,
      toleranceSeconds: 0,
      idTokens: {
        verify: () =>
          Promise.resolve({ ...HOLDER, acr: undefined, amr: [], authTimeMs: undefined, claims: {} })
      },
      ownerships: { verify: () => Promise.resolve() }
    }
  })
  // Damage that the database itself would refuse.
  await auth.database.query('alter table grant_act disable trigger user')
  await auth.database.query('alter table grant_act drop constraint grant_act_proof_is_whole')
  await auth.database.query('alter table consent_record disable trigger user')
  await auth.database.query('alter table consent_record drop constraint consent_record_hash_is_of_document')
  await auth.database.query('alter table limit_window drop constraint limit_window_debit_within_limit')
})
afterAll(() => auth.stop())

/**
 * A grant that was consented to with a proof and a last day, paused and resumed with a proof, of whose 1000 are 300 spent, and that was
 * lowered to 500.
 */
beforeEach(async () => {
  await auth.database.query('truncate reservation, limit_window, grant_request cascade')
  const item = spending({ debitAmount: usd(1_000n) })
  grant = await auth.grant({ access: [item] })
  await auth.database.query(`update grant_request set ends_at = '${END}' where id = '${grant.grantId}'`)
  const terms = { access: [formatAccessItem(item)], walletAddress: ALICE, client: SHOP, endsAt: END }
  await auth.prove(grant, HOLDER, terms)
  await pauseAndResume(grant)
  await auth.reserve(grant.token, { debit: usd(300n) })
  await lowerTo('500', grant)
})

async function pauseAndResume({ grantId }: WrittenGrant): Promise<void> {
  const request = { acting: ACTING, grantId }
  await callUnary(auth.holder, 'pauseGrant', request, once)
  const { resumption } = await callUnary(auth.holder, 'getAllowedGrant', request, once)
  const proof = proofBy(HOLDER, resumption?.document ?? '')
  await callUnary(auth.holder, 'resumeGrant', { ...request, ...proof }, once)
}

const stop = ({ grantId }: WrittenGrant) =>
  callUnary(auth.holder, 'stopGrant', { acting: ACTING, grantId }, once)

async function lowerTo(value: string, { grantId }: WrittenGrant): Promise<void> {
  const debitAmount = { value, assetCode: 'USD', assetScale: 2 }
  const limits = [{ accessIndex: 0, debitAmount, receiveAmount: undefined }]
  await callUnary(auth.holder, 'lowerGrant', { acting: ACTING, grantId, limits, endTime: undefined }, once)
}

/** The act of a kind on the grant: its id, and what it was about. */
async function actOf(kind: string): Promise<{ readonly id: string; readonly document: string }> {
  const text = 'select id, document from grant_act where grant_id = $1 and kind = $2::grant_act_kind'
  const [act] = await auth.database.query<{ id: string; document: string | null }>(text, [
    grant.grantId,
    kind
  ])
  return { id: String(act?.id), document: act?.document ?? '' }
}

async function documentOfConsent(): Promise<string> {
  const [row] = await auth.database.query<{ document: string }>('select document from consent_record')
  return String(row?.document)
}

/** What a proof has, the columns of it that are damaged so, and what is told. */
type OtherProof = [what: string, damage: (document: string) => Record<string, string>, told: string]

/** Members of proofs of something else, or of somebody else. */
const OTHER_PROOFS: OtherProof[] = [
  [
    'the ID token of another document',
    () => ({ id_token: proofBy(HOLDER, '{}').idToken }),
    'an ID token of another document'
  ],
  [
    'the ID token of another person',
    (document) => ({ id_token: proofBy(EVE, document).idToken }),
    'an ID token of another person'
  ],
  [
    'the statement of another person',
    (document) => ({ ownership: proofBy(EVE, document).ownership }),
    'a statement of ownership of another person'
  ],
  [
    'the statement of another wallet',
    () => ({ ownership: proofBy(HOLDER, '', 'https://wallet.example/eve').ownership }),
    'a statement of ownership of https://wallet.example/eve'
  ]
]

/** Nothing is wrong but what is told of the grant. */
async function expectTold(told: string): Promise<void> {
  expect(await auth.violations()).toEqual([`Grant ${grant.grantId}: ${told}`])
}

describe('AuditLimits', () => {
  it('finds nothing wrong with a grant that was proved, resumed with a proof and lowered', async () => {
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
      ofGrant(`its access is not what act ${ACT} left`)
    ],
    [
      'an act that raised a limit',
      `update grant_act set before = jsonb_set(before, '{access,0,limitDebitValue}', '"400"') where kind = 'lowered'`,
      ofGrant(`act ${ACT} raised a limit, or changed more of its access than amounts`)
    ],
    [
      'an act that set a later end',
      `update grant_act set before = jsonb_set(before, '{endsAt}', '"2026-12-31T00:00:00.000Z"') where kind = 'lowered'`,
      ofGrant(`act ${ACT}, lowered, left another end`)
    ],
    [
      'an end that was moved after a lowering',
      'update grant_request set ends_at = null',
      ofGrant(`it ends later than act ${ACT} left`)
    ],
    [
      'an end that was moved before another lowering',
      `with moved as (update grant_request set ends_at = null)
       insert into grant_act (id, grant_id, kind, before, after, counted, issuer, sub, at)
       select gen_random_uuid(), grant_id, kind, after || '{"endsAt":null}', after || '{"endsAt":null}', counted, issuer, sub,
              at + interval '1 hour' from grant_act where kind = 'lowered'`,
      ofGrant(`it ends later than act ${ACT} left`)
    ],
    [
      'an end that nobody consented to',
      `update consent_record set document = replace(document, '${END}', '2026-12-31T00:00:00.000Z')`,
      ofGrant('it ends later than its consent record says, which is 2026-12-31T00:00:00.000Z')
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
      `with resumed as (delete from grant_act where kind = 'resumed')
       update grant_act set at = '2026-01-01' where kind = 'paused'`,
      () => 'and its grant was paused from 2026-01-01'
    ]
  ])('finds %s', async (_damage, statement, named) => {
    const act = await actOf('lowered')
    await auth.database.query(statement)
    const told = named().replace(ACT, act.id).replace(ITEM, String(grant.itemIds[0]))
    expect(await auth.violations()).toEqual(expect.arrayContaining([expect.stringContaining(told)]))
  })

  it('finds a payment beyond what a lowering left, though more had been spent before it', async () => {
    const other = await auth.grant({ access: [spending({ debitAmount: usd(1_000n) })] })
    const spent = auth.payment(other.token, { debit: usd(800n), receive: usd(800n) })
    await auth.reserveAs(spent)
    await lowerTo('500', other)
    // What is returned leaves room below the lowered limit alone.
    await auth.settle(spent.paymentId, 400n, 400n)
    auth.clock.advanceSeconds(61)
    const last = auth.payment(other.token, { debit: usd(100n), receive: usd(100n) })
    expect(await auth.reserveAs(last)).toMatchObject({ reserved: ['500 USD', '500 USD'] })
    expect(await auth.violations()).toEqual([])

    // A payment, and its window, of which everything else agrees.
    await auth.database.query(
      `insert into reservation
         select (jsonb_populate_record(r, jsonb_build_object(
                  'payment_id', gen_random_uuid(), 'spent_debit_value', 600, 'spent_receive_value', 600))).*
           from reservation r where payment_id = $1`,
      [last.paymentId]
    )
    await auth.database.query(
      `update limit_window set spent_debit_value = 600, spent_receive_value = 600 where access_item_id = $1`,
      [other.itemIds[0]]
    )
    const [act] = await auth.database.query<{ id: string }>('select id from grant_act where grant_id = $1', [
      other.grantId
    ])
    const named = [
      expect.stringMatching(
        `^Payment .*: charged at .*, with 600 debited and 600 received, and act ${String(act?.id)} had left 500 and any$`
      )
    ]
    expect(await auth.violations()).toEqual(named)
    // Money that comes back later excuses nothing.
    await auth.settle(last.paymentId, 0n, 0n)
    expect(await auth.violations()).toEqual(named)
  })
})

describe('AuditLimits, of consents,', () => {
  it('demands no record of a consent that needed none', async () => {
    await auth.database.query('delete from consent_record')
    await auth.database.query('update interaction set needs_consent_record = false')
    expect(await auth.violations()).toEqual([])
  })

  it('finds one that was to be proved and has no record', async () => {
    await auth.database.query('delete from consent_record')
    await expectTold('its account holder was to prove the consent, and it has no consent record')
  })

  it.each<OtherProof>([
    ...OTHER_PROOFS,
    [
      'the ID token of another issuer',
      (document) => ({ id_token: proofBy({ ...HOLDER, issuer: 'https://evil.example' }, document).idToken }),
      'an ID token of another person'
    ],
    [
      'the statement of another issuer',
      () => ({ ownership: proofBy({ ...HOLDER, issuer: 'https://evil.example' }, '').ownership }),
      'a statement of ownership of another person'
    ],
    ['no ID token', () => ({ id_token: 'x' }), 'an ID token or a statement of ownership that is none'],
    ['no statement', () => ({ ownership: 'x.y.z' }), 'an ID token or a statement of ownership that is none']
  ])('finds one with %s', async (_what, damage, told) => {
    const members = damage(await documentOfConsent())
    for (const [column, value] of Object.entries(members))
      await auth.database.query(`update consent_record set ${column} = $1`, [value])
    await expectTold(`its consent record has ${told}`)
  })

  it('finds one whose record tells of another person than whoever proved it', async () => {
    await auth.database.query('update consent_record set sub = $1', [EVE.sub])
    const told = await auth.violations()
    const resumed = await actOf('resumed')
    expect(told).toEqual([
      `Grant ${grant.grantId}: its consent record has an ID token of another person`,
      `Grant ${grant.grantId}: its consent record has a statement of ownership of another person`,
      `Grant ${grant.grantId}: act ${resumed.id} resumed what another person consented to`
    ])
  })

  it('finds one with the whole record of another interaction', async () => {
    const document = (await documentOfConsent()).replace(
      /"interaction":"[^"]+"/,
      `"interaction":"${randomUUID()}"`
    )
    const { idToken } = proofBy(HOLDER, document)
    const text = `update consent_record set document = $1, document_hash = sha256(convert_to($1, 'UTF8')), id_token = $2`
    await auth.database.query(text, [document, idToken])
    await expectTold('its consent record is of another interaction')
  })

  it('names a document that is none, and goes on', async () => {
    const text = `update consent_record set document = $1, document_hash = sha256(convert_to($1, 'UTF8'))`
    await auth.database.query(text, ['no JSON'])
    expect(await auth.violations()).toContain(
      `Grant ${grant.grantId}: its consent record has an ID token of another document`
    )
  })
})

describe('AuditLimits, of what changed without an act,', () => {
  it.each<[string, string]>([
    ['the receiver', `limit_receiver = 'https://wallet.example/incoming-payments/2'`],
    ['the interval', `limit_interval = 'R/2026-01-01T00:00:00Z/P1D'`],
    ['no interval that is one', `limit_interval = 'daily'`],
    ['the asset', `limit_debit_scale = 0`],
    [
      'a limit on what is received',
      `limit_receive_value = 1, limit_receive_code = 'USD', limit_receive_scale = 2`
    ],
    ['the actions', `actions = array['create', 'read', 'list-all']`],
    ['the type', `type = 'quote'`],
    ['the wallet address', `identifier = 'https://wallet.example/eve'`]
  ])('finds %s', async (_what, damage) => {
    await auth.database.query(`update access_item set ${damage}`)
    const { id } = await actOf('lowered')
    expect(await auth.violations()).toContain(`Grant ${grant.grantId}: its access is not what act ${id} left`)
  })

  it('finds items that are gone, or were added', async () => {
    const { id } = await actOf('lowered')
    const told = `its access is not what act ${id} left`
    await auth.database.query(
      `insert into access_item (id, grant_id, position, type, actions) values ($1, $2, 1, 'quote', array['create'])`,
      [randomUUID(), grant.grantId]
    )
    await expectTold(told)
    await auth.database.query('delete from access_item where position = 1')
    expect(await auth.violations()).toEqual([])
    await auth.database.query('delete from limit_window')
    await auth.database.query('delete from access_item')
    expect(await auth.violations()).toContain(`Grant ${grant.grantId}: ${told}`)
  })

  it('finds what was changed between two acts', async () => {
    const { id } = await actOf('resumed')
    await auth.database.query(
      `update grant_act set before = jsonb_set(before, '{access,0,limitReceiver}', '"https://wallet.example/incoming-payments/2"')
        where kind = 'lowered'`
    )
    expect(await auth.violations()).toContain(`Grant ${grant.grantId}: its access is not what act ${id} left`)
  })

  it('finds what was changed before the first act', async () => {
    await auth.database.query(
      `update grant_act set before = jsonb_set(before, '{access,0,limitInterval}', '"R/2026-01-01T00:00:00Z/P1D"'),
                            after = jsonb_set(after, '{access,0,limitInterval}', '"R/2026-01-01T00:00:00Z/P1D"')`
    )
    await auth.database.query(`update access_item set limit_interval = 'R/2026-01-01T00:00:00Z/P1D'`)
    expect(await auth.violations()).toContain(
      `Grant ${grant.grantId}: it was granted other access than its consent record says`
    )
  })

  it('finds a pause, and one that nobody resumed', async () => {
    const { id } = await actOf('lowered')
    await auth.database.query(`update grant_request set paused_at = '2026-01-01'`)
    await expectTold(`its pause is not as act ${id} left it`)
    await auth.database.query('update grant_request set paused_at = null')
    await callUnary(auth.holder, 'pauseGrant', { acting: ACTING, grantId: grant.grantId }, once)
    expect(await auth.violations()).toEqual([])
    await auth.database.query('update grant_request set paused_at = null')
    const [last] = await auth.database.query<{ id: string }>(
      'select id from grant_act order by at desc limit 1'
    )
    await expectTold(`its pause is not as act ${String(last?.id)} left it`)
  })

  it('allows an end that came earlier, because nothing is left', async () => {
    await auth.database.query(`update grant_request set ends_at = '2026-12-01'`)
    expect(await auth.violations()).toEqual([])
  })
})

describe('AuditLimits, of acts,', () => {
  /** Changes an act, and what came after it alike. */
  async function falsify(kind: string, changed: string): Promise<string> {
    await auth.database.query(`update grant_act set ${changed} where kind = '${kind}'`)
    return (await actOf(kind)).id
  }

  it.each<[string, string]>([
    ['the receiver', `'{access,0,limitReceiver}', '"https://wallet.example/incoming-payments/2"'`],
    ['the interval', `'{access,0,limitInterval}', '"R/2026-01-01T00:00:00Z/P1D"'`],
    ['the asset', `'{access,0,limitDebitScale}', '0'`],
    ['the actions', `'{access,0,actions}', '["create", "list-all"]'`],
    ['the items', `'{access}', '[]'`]
  ])('finds a lowering that changed %s', async (_what, path) => {
    const id = await falsify('lowered', `after = jsonb_set(after, ${path})`)
    expect(await auth.violations()).toContain(
      `Grant ${grant.grantId}: act ${id} raised a limit, or changed more of its access than amounts`
    )
  })

  it('finds a lowering that removed a limit, or began one on what is received', async () => {
    for (const after of [
      `after = jsonb_set(after, '{access,0,limitDebitValue}', 'null')`,
      `after = after || jsonb_build_object('access', jsonb_build_array(before #> '{access,0}' ||
        '{"limitReceiveValue":"1","limitReceiveCode":"USD","limitReceiveScale":2}'))`
    ]) {
      const id = await falsify('lowered', after)
      expect(await auth.violations()).toContain(
        `Grant ${grant.grantId}: act ${id} raised a limit, or changed more of its access than amounts`
      )
    }
  })

  it('finds a pause that lowered, ended and did not pause', async () => {
    const id = await falsify(
      'paused',
      `after = jsonb_set(before || '{"endsAt":"2026-12-31T00:00:00.000Z"}', '{access,0,limitDebitValue}', '"500"')`
    )
    expect(await auth.violations()).toEqual(
      expect.arrayContaining([
        `Grant ${grant.grantId}: act ${id} raised a limit, or changed more of its access than amounts`,
        `Grant ${grant.grantId}: act ${id}, paused, left another end`,
        `Grant ${grant.grantId}: act ${id}, paused, left another pause`
      ])
    )
  })

  it('finds a stopped grant that goes on', async () => {
    await stop(grant)
    expect(await auth.violations()).toEqual([])
    const { id } = await actOf('stopped')
    await auth.database.query(`update grant_request set state = 'issued'`)
    await expectTold(`act ${id} stopped it, and it is issued`)
  })

  it('finds a payment that was charged after a stop', async () => {
    await stop(grant)
    const { id } = await actOf('stopped')
    await auth.database.query(
      `with later as (update grant_request set updated_at = updated_at + interval '1 day')
       update reservation set charged_at = charged_at + interval '62 seconds'`
    )
    expect(await auth.violations()).toEqual([
      expect.stringMatching(`^Payment .*: charged at .*, and act ${id} had stopped its grant at .*$`)
    ])
  })

  it('allows a stop of an instance whose clock is behind', async () => {
    await stop(grant)
    await auth.database.query(
      `update grant_act set at = (select min(at) - interval '50 seconds' from grant_act) where kind = 'stopped'`
    )
    expect(await auth.violations()).toEqual([])
  })
})

describe('AuditLimits, of resumptions,', () => {
  const setProof = (values: Record<string, string | null>): Promise<unknown> =>
    auth.database.query(
      `update grant_act set ${Object.keys(values)
        .map((column, index) => `${column} = $${String(index + 1)}`)
        .join(', ')} where kind = 'resumed'`,
      Object.values(values)
    )

  it('demands no proof of one that needed none', async () => {
    await setProof({ document: null, id_token: null, ownership: null, needs_proof: 'false' })
    expect(await auth.violations()).toEqual([])
  })

  it.each(['document', 'id_token', 'ownership'])(
    'finds one that was to be proved, without its %s',
    async (missing) => {
      const { id } = await actOf('resumed')
      await setProof({ [missing]: null })
      await expectTold(`act ${id} was to be proved, and has no proof`)
    }
  )

  it.each(OTHER_PROOFS)('finds one that has %s', async (_what, damage, told) => {
    const { id, document } = await actOf('resumed')
    await setProof(damage(document))
    await expectTold(`act ${id} has ${told}`)
  })

  it.each<[string, (document: string) => string]>([
    ['grant', (document) => document.replace(/"grant":"[^"]+"/, `"grant":"${randomUUID()}"`)],
    ['act before it', (document) => document.replace(/"after":"[^"]+"/, `"after":"${randomUUID()}"`)],
    ['wish', (document) => document.replace('"resumed"', '"told"')],
    ['kind: a consent', () => '{"interaction":"x"}']
  ])('finds one with the proof of another %s', async (_what, forge) => {
    const { id, document: wanted } = await actOf('resumed')
    const document = forge(wanted)
    expect(document).not.toBe(wanted)
    await setProof({ document, id_token: proofBy(HOLDER, document).idToken })
    await expectTold(`act ${id} has a document of another act`)
  })

  it.each<[string, Holder]>([
    ['another person', EVE],
    ['the same name at another issuer', { ...HOLDER, issuer: 'https://evil.example' }]
  ])('finds one by %s than whoever consented, however it is proved', async (_what, holder) => {
    const { id, document } = await actOf('resumed')
    const { idToken, ownership } = proofBy(holder, document)
    await setProof({ ...holder, id_token: idToken, ownership })
    await expectTold(`act ${id} resumed what another person consented to`)
  })
})
