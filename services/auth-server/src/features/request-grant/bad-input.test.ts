import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  PUBLIC_URL,
  startTestAuthServer,
  type TestAuthServer,
  type TestClient
} from '../../../test/auth-server.js'
import { createAccountHolder, outgoingPaymentRequest } from '../../../test/grants.js'

type Body = Record<string, unknown>

const usd = (value: unknown) => ({ value, assetCode: 'USD', assetScale: 2 })
const incoming = { type: 'incoming-payment', actions: ['create'] }
const ITEM = 'access_token.access[0]'

describe('a malformed grant request is answered with 400 that names the field, and writes nothing', () => {
  let auth: TestAuthServer
  let shop: TestClient
  let alice: string

  beforeAll(async () => {
    auth = await startTestAuthServer()
    shop = auth.createClient('shop')
    alice = createAccountHolder(auth)
  })
  afterAll(() => auth.stop())

  const expectRefused = async (body: unknown, field: string): Promise<void> => {
    const answer = await shop.request('POST', PUBLIC_URL, { body })
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } })
    expect(Object.keys(answer.at('error.details') as Body)).toContain(field)
  }

  it.each<[string, unknown, string]>([
    ['null', null, 'body'],
    ['an array', [], 'body'],
    ['not JSON', 'client', 'body'],
    ['cut off', '{"client":', 'body'],
    ['not UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 'body'],
    ['too deep', '{"a":'.repeat(60) + '1' + '}'.repeat(60), 'body'],
    ['holding NUL', { client: 'a\u0000b' }, 'client']
  ])('a body that is %s', async (_name, body, field) => {
    await expectRefused(body, field)
  })

  it.each<[string, Body, string]>([
    ['client', { client: undefined }, 'client'],
    ['client', { client: 5 }, 'client'],
    ['client', { client: 'shop' }, 'client'],
    ['client', { client: 'ftp://wallet.test/shop' }, 'client'],
    ['client', { client: 'https://user:password@wallet.test/shop' }, 'client'],
    ['client', { client: ` https://wallet.test/shop` }, 'client'],
    ['client', { client: `https://wallet.test/${'a'.repeat(2048)}` }, 'client'],
    ['client', { client: 'https://wallet.test/shop?a=b' }, 'client'],
    ['client', { client: { walletAddress: 'shop' } }, 'client.walletAddress'],
    ['client', { client: { walletAddress: 'https://wallet.test/shop', more: 1 } }, 'client.more'],
    ['client', { client: { jwk: { kid: 'a' } } }, 'client.jwk'],
    ['access_token', { access_token: undefined }, 'access_token'],
    ['access_token', { access_token: [] }, 'access_token'],
    ['access', { access_token: {} }, 'access_token.access'],
    ['access', { access_token: { access: [] } }, 'access_token.access'],
    ['access', { access_token: { access: [incoming, incoming] } }, 'access_token.access'],
    [
      'access',
      {
        access_token: {
          access: ['create', 'read', 'list', 'complete'].map((a) => ({ ...incoming, actions: [a] }))
        }
      },
      'access_token.access'
    ],
    ['subject', { subject: { sub_ids: [] } }, 'subject.sub_ids'],
    ['subject', { subject: { sub_ids: [{ id: 'https://wallet.test/a' }] } }, 'subject.sub_ids[0].format'],
    ['subject', { subject: { sub_ids: [{ id: 'alice', format: 'uri' }] } }, 'subject.sub_ids[0].id'],
    ['interact', { interact: {} }, 'interact.start'],
    ['interact', { interact: { start: ['user_code'] } }, 'interact.start'],
    ['interact', { interact: { start: 'redirect' } }, 'interact.start']
  ])('a field %s that is wrong', async (_name, changed, field) => {
    const body = { client: shop.walletAddress, access_token: { access: [incoming] }, ...changed }
    await expectRefused(body, field)
  })

  it.each<[Body, string]>([
    [{ type: 'payment' }, `${ITEM}.type`],
    [{ type: undefined }, `${ITEM}.type`],
    [{ actions: undefined }, `${ITEM}.actions`],
    [{ actions: [] }, `${ITEM}.actions`],
    [{ actions: ['create', 'create'] }, `${ITEM}.actions`],
    [{ actions: ['complete'] }, `${ITEM}.actions[0]`],
    [{ identifier: undefined }, `${ITEM}.identifier`],
    [{ identifier: 'alice' }, `${ITEM}.identifier`],
    [{ identifier: 'javascript:alert(1)' }, `${ITEM}.identifier`],
    [{ more: true }, `${ITEM}.more`],
    [{ limits: [] }, `${ITEM}.limits`],
    [{ limits: { more: 1 } }, `${ITEM}.limits.more`],
    [{ limits: { receiver: 'https://wallet.test/alice' } }, `${ITEM}.limits.receiver`],
    [{ limits: { interval: 'P1M' } }, `${ITEM}.limits.interval`],
    [{ limits: { interval: 'R12/2019-08-24T14:15:22Z/PT0S' } }, `${ITEM}.limits.interval`],
    [{ limits: { interval: 'R0/2019-08-24T14:15:22Z/P1M' } }, `${ITEM}.limits.interval`],
    [{ limits: { interval: `R/${'9'.repeat(200)}` } }, `${ITEM}.limits.interval`],
    [{ limits: { debitAmount: usd(500) } }, `${ITEM}.limits.debitAmount.value`],
    [{ limits: { debitAmount: usd('-1') } }, `${ITEM}.limits.debitAmount.value`],
    [{ limits: { debitAmount: usd('01') } }, `${ITEM}.limits.debitAmount.value`],
    [{ limits: { debitAmount: usd('1.5') } }, `${ITEM}.limits.debitAmount.value`],
    [{ limits: { debitAmount: usd('18446744073709551616') } }, `${ITEM}.limits.debitAmount.value`],
    [{ limits: { debitAmount: { ...usd('1'), assetScale: 256 } } }, `${ITEM}.limits.debitAmount.assetScale`],
    [{ limits: { debitAmount: { ...usd('1'), assetScale: '2' } } }, `${ITEM}.limits.debitAmount.assetScale`],
    [{ limits: { receiveAmount: { ...usd('1'), assetCode: '' } } }, `${ITEM}.limits.receiveAmount.assetCode`],
    [{ limits: { receiveAmount: { ...usd('1'), more: 1 } } }, `${ITEM}.limits.receiveAmount.more`],
    [{ type: 'incoming-payment', limits: {} }, `${ITEM}.limits`]
  ])('an access item with %j', async (changed, field) => {
    const item = { type: 'outgoing-payment', actions: ['create'], identifier: alice, ...changed }
    const body = { ...outgoingPaymentRequest(shop.walletAddress, alice), access_token: { access: [item] } }
    await expectRefused(body, field)
  })

  it.each<[Body, string]>([
    [{ method: 'push' }, 'interact.finish.method'],
    [{ uri: 'shop' }, 'interact.finish.uri'],
    [{ uri: 'javascript:alert(1)' }, 'interact.finish.uri'],
    [{ uri: 'https://shop.test/#fragment' }, 'interact.finish.uri'],
    [{ nonce: '' }, 'interact.finish.nonce'],
    [{ nonce: 'n'.repeat(257) }, 'interact.finish.nonce'],
    [{ nonce: undefined }, 'interact.finish.nonce'],
    [{ hash_method: 'md5' }, 'interact.finish.hash_method']
  ])('a finish with %j', async (finish, field) => {
    await expectRefused(outgoingPaymentRequest(shop.walletAddress, alice, { finish }), field)
  })

  it('a body that is no JSON by its content type is 415', async () => {
    const headers = { 'content-type': 'text/plain' }
    const answer = await shop.request('POST', PUBLIC_URL, { body: '{}', headers })
    expect(answer).toMatchObject({ status: 415, body: { error: { code: 'invalid_request' } } })
  })

  it('a body that is too large is 413', async () => {
    const answer = await shop.request('POST', PUBLIC_URL, { body: { client: 'a'.repeat(70_000) } })
    expect(answer).toMatchObject({ status: 413, body: { error: { code: 'invalid_request' } } })
  })

  it('and all of these wrote nothing', async () => {
    const [row] = await auth.database.query(`
      select (select count(*) from grant_request) as grants, (select count(*) from access_item) as items,
             (select count(*) from access_token) as tokens, (select count(*) from interaction) as interactions`)
    expect(row).toEqual({ grants: '0', items: '0', tokens: '0', interactions: '0' })
  })
})
