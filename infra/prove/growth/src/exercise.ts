import { callUnary } from '@open-payments-server/grpc-transport'
import { auth, wallet } from '@open-payments-server/proto'
import {
  allSettled,
  amount,
  type ConnectedSystem,
  consentedToken,
  createReceiver,
  interact,
  outgoingAccess,
  PATIENT,
  pay,
  requestInteractiveGrant,
  requestToken
} from '@open-payments-server/acceptance'
import type { Answer } from '@open-payments-server/testing'
import { exerciseConsole, exerciseHolderPages } from './exercise-pages.js'

const READ = { idempotent: true }
/** Number of concurrent payments: some of them share statements. */
const TOGETHER = 16

/**
 * Settings with which workers run within seconds, so that their statements are sent, too. Those who look at each statement make it
 * slow: that is not to fail a payment.
 */
export const BUSY_WORKERS = {
  auth: { PURGE_INTERVAL_SECONDS: '1' },
  resource: { ...PATIENT, PURGE_INTERVAL_SECONDS: '1', SWEEP_INTERVAL_SECONDS: '1', ORPHAN_AGE_SECONDS: '1' }
} as const

/**
 * Does everything once that clients and operators do, except the audit, which reads everything. So every statement of the services
 * is sent.
 *
 * @param paths of wallet addresses to list payments of
 * @throws Error for an unexpected answer
 */
export async function exerciseEverything(system: ConnectedSystem, paths: readonly string[]): Promise<void> {
  await exerciseGrants(system)
  await exercisePayments(system)
  for (const path of paths) await exerciseLists(system, path)
  await exerciseOperators(system)
  await allSettled(system)
}

function expectStatus(answer: Answer, status: number): Answer {
  if (answer.status === status) return answer
  throw new Error(`answered ${String(answer.status)} where ${String(status)} was due: ${answer.text}`)
}

async function exerciseGrants(system: ConnectedSystem): Promise<void> {
  const { shop } = system
  const pending = await requestInteractiveGrant(system, shop, [outgoingAccess(system)])
  await system.passSeconds(pending.waitSeconds)
  // Requested before the account holder decides.
  await shop.request('POST', pending.continueUri, { accessToken: pending.continuationToken })
  await interact(system, pending, 'reject')
  const { token, manage, grant } = await consentedToken(system, shop, [outgoingAccess(system)])
  const rotated = expectStatus(await shop.request('POST', manage, { accessToken: token }), 200)
  // It has ended, and is no longer cached.
  expectStatus(await shop.request('POST', manage, { accessToken: token }), 404)
  const newToken = rotated.textAt('access_token.value')
  await callUnary(system.introspection, 'introspect', { accessToken: newToken, keyId: shop.key.keyId }, READ)
  expectStatus(
    await shop.request('DELETE', rotated.textAt('access_token.manage'), { accessToken: newToken }),
    204
  )
  const cancelled = await requestInteractiveGrant(system, shop, [outgoingAccess(system)])
  expectStatus(
    await shop.request('DELETE', cancelled.continueUri, { accessToken: cancelled.continuationToken }),
    204
  )
  await callUnary(system.grantOperator, 'revokeGrant', { grantId: grantIdOf(grant.continueUri) }, READ)
}

function grantIdOf(continueUri: string): string {
  return continueUri.slice(continueUri.lastIndexOf('/') + 1)
}

async function exercisePayments(system: ConnectedSystem): Promise<void> {
  const { shop, resourceServerUrl, walletAddresses } = system
  const receiver = await createReceiver(system, shop)
  const keyed = { headers: { 'idempotency-key': 'exercise' }, accessToken: receiver.token }
  for (let times = 0; times < 2; times += 1) {
    const body = { walletAddress: walletAddresses.bob }
    expectStatus(
      await shop.request('POST', `${resourceServerUrl}/incoming-payments`, { ...keyed, body }),
      201
    )
  }
  const quoting = await requestToken(system, shop, [{ type: 'quote', actions: ['create', 'read'] }])
  const { token } = await consentedToken(system, shop, [
    outgoingAccess(system, { debitAmount: amount(10_000) })
  ])
  const requestQuote = (headers: Record<string, string>) =>
    shop.request('POST', `${resourceServerUrl}/quotes`, {
      accessToken: quoting,
      headers,
      body: {
        walletAddress: walletAddresses.alice,
        receiver: receiver.url,
        method: 'ilp',
        debitAmount: amount(10)
      }
    })
  expectStatus(await requestQuote({}), 201)
  const quote = expectStatus(await requestQuote({ 'idempotency-key': 'exercise' }), 201)
  expectStatus(await shop.request('GET', quote.textAt('id'), { accessToken: quoting }), 200)
  const order = { walletAddress: walletAddresses.alice, quoteId: quote.textAt('id') }
  for (const key of ['first', 'first', 'second']) {
    await shop.request('POST', `${resourceServerUrl}/outgoing-payments`, {
      accessToken: token,
      headers: { 'idempotency-key': key },
      body: order
    })
  }
  const paid = expectStatus(await pay(system, shop, token, receiver.url, 100n), 201)
  expectStatus(await pay(system, shop, token, receiver.url, 1_000_000n), 403)
  const together = Array.from({ length: TOGETHER }, () => pay(system, shop, token, receiver.url, 1n))
  for (const answer of await Promise.all(together)) expectStatus(answer, 201)
  await allSettled(system)
  expectStatus(await shop.request('GET', paid.textAt('id'), { accessToken: token }), 200)
  expectStatus(await shop.request('GET', receiver.url, { accessToken: receiver.token }), 200)
  expectStatus(
    await shop.request('GET', `${resourceServerUrl}/outgoing-payment-grant`, { accessToken: token }),
    200
  )
  await exerciseRefunds(system, paid.textAt('id'))
  expectStatus(await shop.request('POST', `${receiver.url}/complete`, { accessToken: receiver.token }), 200)
}

/** Refunds a payment from alice to bob, by the provider and by a payment. */
async function exerciseRefunds(system: ConnectedSystem, paymentUrl: string): Promise<void> {
  const { operator, shop, resourceServerUrl, walletAddresses } = system
  const refund = { refundOf: paymentUrl, value: '1', idempotencyKey: 'exercise', returnsFee: true }
  for (let times = 0; times < 2; times += 1) await callUnary(operator, 'createRefund', refund, READ)
  const { token } = await consentedToken(system, shop, [
    outgoingAccess(system, { debitAmount: amount(10) }, walletAddresses.bob)
  ])
  const back = await createReceiver(system, shop, { wallet: 'alice' })
  const body = {
    walletAddress: walletAddresses.bob,
    incomingPayment: back.url,
    debitAmount: amount(2),
    refundOf: paymentUrl
  }
  const paid = await shop.request('POST', `${resourceServerUrl}/outgoing-payments`, {
    accessToken: token,
    body
  })
  expectStatus(paid, 201)
  await allSettled(system)
  for (const refundOf of ['', paymentUrl]) {
    const refunds = wallet.ListRefundsRequest.fromPartial({ refundOf, pageSize: 1 })
    const { nextPageToken } = await callUnary(operator, 'listRefunds', refunds, READ)
    await callUnary(operator, 'listRefunds', { ...refunds, pageToken: nextPageToken }, READ)
  }
}

async function exerciseLists(system: ConnectedSystem, path: string): Promise<void> {
  const { shop, resourceServerUrl } = system
  const walletAddress = `${resourceServerUrl}${path}`
  for (const action of ['list', 'list-all']) {
    const access = (type: string): object[] => [{ type, actions: [action], identifier: walletAddress }]
    const consented = async (type: string): Promise<string> =>
      (await consentedToken(system, shop, access(type))).token
    const tokens = {
      'incoming-payments':
        action === 'list'
          ? await requestToken(system, shop, access('incoming-payment'))
          : await consented('incoming-payment'),
      'outgoing-payments': await consented('outgoing-payment')
    }
    for (const [name, accessToken] of Object.entries(tokens)) {
      const list = (query: object): Promise<Answer> => {
        const search = new URLSearchParams({ 'wallet-address': walletAddress, ...query }).toString()
        return shop.request('GET', `${resourceServerUrl}/${name}?${search}`, { accessToken })
      }
      const first = expectStatus(await list({ first: '20' }), 200)
      const cursor = first.at('pagination.endCursor')
      if (typeof cursor !== 'string') continue
      const next = expectStatus(await list({ first: '20', cursor }), 200)
      const back = next.at('pagination.startCursor')
      if (typeof back === 'string') expectStatus(await list({ last: '20', cursor: back }), 200)
    }
  }
}

async function exerciseOperators(system: ConnectedSystem): Promise<void> {
  const { operator, grantOperator, limits, shop, walletAddresses } = system
  const grants = [
    {},
    { walletAddress: walletAddresses.alice },
    { clientWalletAddress: shop.walletAddress },
    { state: auth.GrantState.GRANT_STATE_ISSUED }
  ]
  for (const query of grants) {
    const page = auth.ListGrantsRequest.fromPartial({ pageSize: 20, ...query })
    const { nextPageToken } = await callUnary(grantOperator, 'listGrants', page, READ)
    if (nextPageToken !== '')
      await callUnary(grantOperator, 'listGrants', { ...page, pageToken: nextPageToken }, READ)
  }
  await callUnary(
    limits,
    'listReservations',
    auth.ListReservationsRequest.fromPartial({ pageSize: 1_000 }),
    READ
  )
  for (const kind of [wallet.PaymentKind.PAYMENT_KIND_INCOMING, wallet.PaymentKind.PAYMENT_KIND_OUTGOING]) {
    const payments = wallet.ListPaymentsRequest.fromPartial({ pageSize: 20, kind })
    const { nextPageToken } = await callUnary(operator, 'listPayments', payments, READ)
    if (nextPageToken !== '')
      await callUnary(operator, 'listPayments', { ...payments, pageToken: nextPageToken }, READ)
  }
  await callUnary(operator, 'listAccounts', wallet.ListAccountsRequest.fromPartial({ name: 'alice' }), READ)
  await callUnary(operator, 'listAccounts', wallet.ListAccountsRequest.fromPartial({ pageSize: 20 }), READ)
  await callUnary(
    operator,
    'listWalletAddresses',
    wallet.ListWalletAddressesRequest.fromPartial({ pageSize: 20 }),
    READ
  )
  await exerciseConsole(system)
  await exerciseHolderPages(system)
}
