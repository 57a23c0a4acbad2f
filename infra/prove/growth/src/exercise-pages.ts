import { randomBytes, randomUUID } from 'node:crypto'
import { callUnary, shareChannel } from '@open-payments-server/grpc-transport'
import { auth, events, operators, wallet } from '@open-payments-server/proto'
import {
  amount,
  type ConnectedSystem,
  consentedToken,
  createPeer,
  createReceiver,
  outgoingAccess,
  pay
} from '@open-payments-server/acceptance'
import { createTestKey } from '@open-payments-server/testing'

const READ = { idempotent: true }
const ONCE = { idempotent: false }
const PEER_NAME = 'exercise'

/** What the console asks besides what operators do with the command line. */
export async function exerciseConsole(system: ConnectedSystem): Promise<void> {
  const { operator, grantOperator, walletAddresses, shop } = system
  const { PAYMENT_KIND_INCOMING, PAYMENT_KIND_OUTGOING } = wallet.PaymentKind
  const newest = await callUnary(
    operator,
    'listPayments',
    wallet.ListPaymentsRequest.fromPartial({ kind: PAYMENT_KIND_OUTGOING, pageSize: 1 }),
    READ
  )
  const paymentId = newest.payments[0]?.paymentId ?? ''
  const life = await callUnary(operator, 'getPaymentLife', { paymentId }, READ)
  const grantId = life.outgoing?.grantId ?? ''
  const walletAddress = walletAddresses.alice
  const fromTime = new Date(system.clock.now() - 86_400_000)
  const untilTime = new Date(system.clock.now())
  for (const filter of [
    { value: '100' },
    { walletAddress, value: '100' },
    { state: 'completed' },
    { walletAddress, state: 'completed' },
    { client: shop.walletAddress },
    { walletAddress, client: shop.walletAddress },
    { fromTime, untilTime },
    { walletAddress, fromTime, untilTime }
  ])
    for (const kind of [PAYMENT_KIND_INCOMING, PAYMENT_KIND_OUTGOING]) {
      const request = wallet.ListPaymentsRequest.fromPartial({ ...filter, kind, pageSize: 20 })
      await callUnary(operator, 'listPayments', request, READ)
    }
  const ofGrant = { kind: PAYMENT_KIND_OUTGOING, walletAddress, grantId, pageSize: 20 }
  await callUnary(operator, 'listPayments', wallet.ListPaymentsRequest.fromPartial(ofGrant), READ)
  const receiverId = life.payment?.receiver.split('/').at(-1) ?? ''
  await callUnary(operator, 'getPaymentLife', { paymentId: receiverId }, READ)
  let pageToken = ''
  for (let page = 0; page < 2; page += 1) {
    const request = { accountName: 'alice', pageSize: 20, pageToken }
    pageToken = (await callUnary(operator, 'listAccountEntries', request, READ)).nextPageToken
  }
  await callUnary(operator, 'listAwaitingPayments', { pageSize: 20, pageToken: '' }, READ)
  await callUnary(operator, 'countPayments', { hours: 24 }, READ)
  await callUnary(system.peers, 'countUnknownPackets', {}, READ)
  for (const filter of [{ accountName: 'alice' }, { walletAddress }])
    await callUnary(
      operator,
      'listWalletAddresses',
      wallet.ListWalletAddressesRequest.fromPartial({ ...filter, pageSize: 20 }),
      READ
    )
  await callUnary(grantOperator, 'getGrant', { grantId }, READ)
  await callUnary(grantOperator, 'getReservation', { paymentId }, READ)
  const frozen = auth.ListFrozenClientsRequest.fromPartial({ client: shop.walletAddress })
  await callUnary(grantOperator, 'listFrozenClients', frozen, READ)
  for (const service of ['auth-server', 'resource-server'] as const) {
    const subjectId = service === 'auth-server' ? grantId : paymentId
    const told = await callUnary(
      system.events[service],
      'listSubjectEvents',
      { subjectId, pageSize: 0 },
      READ
    )
    await callUnary(system.events[service], 'listAudits', { pageSize: 20, pageToken: '' }, READ)
    const eventIds = told.events.map(({ id }) => id)
    await callUnary(system.webhooks[service], 'listEventAttempts', { eventIds }, READ)
    await exerciseActions(system.actions[service])
    await exerciseWebhooks(system.webhooks[service])
  }
  await exercisePeers(system.peers)
  await exerciseActs(system)
}

async function exerciseWebhooks(webhooks: events.WebhookServiceClient): Promise<void> {
  const request = events.CreateWebhookEndpointRequest.fromPartial({ url: 'http://127.0.0.1:9/exercise' })
  const { endpoint } = await callUnary(webhooks, 'createWebhookEndpoint', request, ONCE)
  const id = endpoint?.id ?? ''
  let pageToken = ''
  for (let page = 0; page < 2; page += 1) {
    const listed = events.ListWebhookEndpointsRequest.fromPartial({ pageSize: 1, pageToken })
    pageToken = (await callUnary(webhooks, 'listWebhookEndpoints', listed, READ)).nextPageToken
  }
  await callUnary(webhooks, 'countWebhookEndpoints', {}, READ)
  await callUnary(webhooks, 'getWebhookEndpoint', { id }, READ)
  await callUnary(webhooks, 'listWebhookAttempts', { id, pageSize: 20, pageToken: '' }, READ)
  for (const after of [undefined, new Date()])
    await callUnary(webhooks, 'replayWebhooks', { id, after }, READ)
  await callUnary(webhooks, 'disableWebhookEndpoint', { id }, READ)
  const enabled = events.UpdateWebhookEndpointRequest.fromPartial({ id, enable: true })
  await callUnary(webhooks, 'updateWebhookEndpoint', enabled, READ)
  await callUnary(webhooks, 'deleteWebhookEndpoint', { id }, READ)
}

async function exercisePeers(peers: ConnectedSystem['peers']): Promise<void> {
  const newToken = (): string => randomBytes(24).toString('hex')
  const name = PEER_NAME
  await createPeer(
    { peers },
    {
      ...{ name, ilpAddress: 'test.exercise', endpoint: 'http://127.0.0.1:9/' },
      ...{ incomingToken: newToken(), outgoingToken: newToken() },
      ...{ receivableLimitValue: '100000', payableLimitValue: '100000' }
    }
  )
  const settled = {
    ...{ name, value: '10', reference: 'exercise', key: 'exercise' },
    direction: wallet.SettlementDirection.SETTLEMENT_DIRECTION_RECEIVED
  }
  for (let times = 0; times < 2; times += 1) await callUnary(peers, 'settlePeer', settled, READ)
  await callUnary(peers, 'listPeers', { pageSize: 20, pageToken: '' }, READ)
  await callUnary(peers, 'getPeer', { name }, READ)
  const date = new Date().toISOString().slice(0, 10)
  await callUnary(peers, 'getPeerStatement', { name, date }, READ)
  await callUnary(peers, 'listPeerEntries', { name, date, pageSize: 20, pageToken: '' }, READ)
  await callUnary(peers, 'listUnknownPackets', { name, pageSize: 20, pageToken: '' }, READ)
}

/** What operators do, each way there and back. */
async function exerciseActs(system: ConnectedSystem): Promise<void> {
  const { operator, grantOperator, walletAddresses, shop, market } = system
  const subject = { accountName: 'carol', walletAddress: walletAddresses.carol, reason: 'exercise' }
  for (const method of [
    ...(['freezeAccount', 'unfreezeAccount'] as const),
    ...(['freezeWalletAddress', 'unfreezeWalletAddress'] as const)
  ])
    await callUnary(operator, method, subject, READ)
  for (const method of ['freezeClient', 'unfreezeClient'] as const)
    await callUnary(grantOperator, method, { client: shop.walletAddress, reason: 'exercise' }, READ)
  const moved = { accountName: 'alice', value: '10' }
  await callUnary(operator, 'deposit', { depositId: randomUUID(), ...moved }, READ)
  await callUnary(operator, 'withdraw', { withdrawalId: randomUUID(), ...moved }, READ)
  const key = { walletAddress: market.walletAddress, kid: 'exercise' }
  await callUnary(operator, 'addClientKey', { ...key, x: createTestKey('exercise').jwk.x }, ONCE)
  await callUnary(operator, 'revokeClientKey', key, READ)
  await exerciseDecisions(system)
}

async function exerciseDecisions(system: ConnectedSystem): Promise<void> {
  const { operator, shop } = system
  const receiver = await createReceiver(system, shop)
  const { token } = await consentedToken(system, shop, [
    outgoingAccess(system, { debitAmount: amount(10_000) })
  ])
  const request = wallet.CreateApprovalRuleRequest.fromPartial({ aboveValue: '100' })
  const { rule } = await callUnary(operator, 'createApprovalRule', request, ONCE)
  for (const method of ['approvePayment', 'declinePayment'] as const) {
    const outgoingPayment = (await pay(system, shop, token, receiver.url, 1_000n)).textAt('id')
    await callUnary(operator, 'getOutgoingPayment', { outgoingPayment }, READ)
    await callUnary(operator, method, { outgoingPayment, reason: 'exercise' }, READ)
  }
  await callUnary(operator, 'deleteApprovalRule', { ruleId: rule?.id ?? '' }, READ)
}

/** What the pages of account holders ask and do, as alice. */
export async function exerciseHolderPages(system: ConnectedSystem): Promise<void> {
  const { operator, holderGrants, walletAddresses, shop } = system
  const person = { issuer: 'https://login.wallet.example', sub: 'alice-1' }
  await callUnary(operator, 'setAccountHolder', { accountName: 'alice', holder: person }, READ)
  const receiver = await createReceiver(system, shop)
  const { token, grant } = await consentedToken(system, shop, [
    outgoingAccess(system, { debitAmount: amount(10_000) })
  ])
  const grantId = grant.continueUri.split('/').at(-1) ?? ''
  await pay(system, shop, token, receiver.url, 10n)
  const holders = shareChannel(wallet.HolderServiceClient, operator)
  const asked = { ...person, holderClaimValues: [], pageSize: 20, pageToken: '' }
  await callUnary(holders, 'listHolderAccounts', asked, READ)
  await callUnary(holders, 'listGrantPayments', { ...asked, grantId }, READ)
  await callUnary(
    holders,
    'describeReceivers',
    { urls: [receiver.url, walletAddresses.bob, 'https://elsewhere.example/x'], askProviders: false },
    READ
  )
  for (const walletAddress of ['', walletAddresses.alice])
    for (const span of [{}, { fromTime: new Date(0), untilTime: new Date() }]) {
      const request = wallet.ListHolderPaymentsRequest.fromPartial({ ...asked, walletAddress, ...span })
      const { nextPageToken: pageToken } = await callUnary(holders, 'listHolderPayments', request, READ)
      if (pageToken !== '') await callUnary(holders, 'listHolderPayments', { ...request, pageToken }, READ)
    }
  const acting = { holder: person, walletAddresses: [walletAddresses.alice] }
  const { ALLOWED_GRANT_STATE_UNSPECIFIED, ALLOWED_GRANT_STATE_IN_FORCE } = auth.AllowedGrantState
  const { ALLOWED_GRANT_STATE_PAUSED, ALLOWED_GRANT_STATE_ENDED } = auth.AllowedGrantState
  for (const state of [
    ...[ALLOWED_GRANT_STATE_UNSPECIFIED, ALLOWED_GRANT_STATE_IN_FORCE],
    ...[ALLOWED_GRANT_STATE_PAUSED, ALLOWED_GRANT_STATE_ENDED]
  ]) {
    const request = { acting, state, pageSize: 1, pageToken: '' }
    const { nextPageToken: pageToken } = await callUnary(holderGrants, 'listAllowedGrants', request, READ)
    if (pageToken !== '') await callUnary(holderGrants, 'listAllowedGrants', { ...request, pageToken }, READ)
  }
  const of = { acting, grantId }
  await callUnary(holderGrants, 'pauseGrant', of, READ)
  await callUnary(holderGrants, 'resumeGrant', { ...of, idToken: '', ownership: '' }, READ)
  const debitAmount = { value: '5000', assetCode: 'USD', assetScale: 2 }
  const limits = [{ accessIndex: 0, debitAmount, receiveAmount: undefined }]
  await callUnary(holderGrants, 'lowerGrant', { ...of, limits, endTime: undefined }, READ)
  await callUnary(holderGrants, 'stopGrant', of, READ)
  await callUnary(holderGrants, 'getAllowedGrant', of, READ)
}

async function exerciseActions(actions: operators.OperatorActionServiceClient): Promise<void> {
  const [operator, subject, fromTime] = ['development', 'alice', new Date(0)]
  for (const filter of [{}, { operator }, { subject }, { operator, subject, fromTime }]) {
    const request = operators.ListOperatorActionsRequest.fromPartial({ ...filter, pageSize: 1 })
    const { nextPageToken: pageToken } = await callUnary(actions, 'listOperatorActions', request, READ)
    await callUnary(actions, 'listOperatorActions', { ...request, pageToken }, READ)
  }
  const { PROPOSAL_STATE_OPEN, PROPOSAL_STATE_UNSPECIFIED } = operators.ProposalState
  for (const state of [PROPOSAL_STATE_OPEN, PROPOSAL_STATE_UNSPECIFIED])
    await callUnary(actions, 'listProposals', { state, pageSize: 20, pageToken: '' }, READ)
}
