import { randomBytes, randomUUID } from 'node:crypto'
import {
  callUnary,
  type RequestOf,
  type ResponseOf,
  type UnaryMethodName
} from '@open-payments-server/grpc-transport'
import { auth, wallet } from '@open-payments-server/proto'
import { type Answer, createTestKey, send } from '@open-payments-server/testing'
import {
  consentedToken,
  interact,
  type OpenInteraction,
  openInteraction,
  outgoingAccess,
  type PendingGrant,
  requestInteractiveGrant,
  requestToken
} from './consent.js'
import { amount, createReceiver, pay } from './payments.js'
import type { ConnectedSystem } from './connect-system.js'

/** The resources that requests of every kind refer to. */
export interface Groundwork {
  readonly system: ConnectedSystem
  /** Without an incoming amount: takes any. */
  readonly receiver: { readonly url: string; readonly token: string }
  /** Token of a grant without limits. */
  readonly payToken: string
  /** Token of a grant without room. */
  readonly exhaustedToken: string
  /** Token of a grant that has only reservations without payments. */
  readonly reserveToken: string
  readonly quoteToken: string
  /** An outgoing payment that was made with `payToken`. */
  readonly payment: string
}

/** A kind of request. */
export interface RequestKind {
  readonly name: string
  /** The expected answer: the HTTP status, `OK`, or the result of a reservation. */
  readonly answer: string
  /** Maximum number that race, if each is too much work for two connections to do for many in time. */
  readonly racingMax?: number
  /** Prepares one request, with everything that it alone uses. Resolves to a function that sends it and reads the answer. */
  readonly prepare: (groundwork: Groundwork) => Promise<() => Promise<string>>
}

/** An audit sends dozens of statements that read whole tables. */
const AUDITS_RACING_MAX = 4

/** Creates the resources that requests of every kind refer to. */
export async function layGroundwork(system: ConnectedSystem): Promise<Groundwork> {
  const { shop } = system
  const receiver = await createReceiver(system, shop)
  const token = async (limits?: Record<string, unknown>): Promise<string> =>
    (await consentedToken(system, shop, [outgoingAccess(system, limits)])).token
  const payToken = await token()
  return {
    system,
    receiver,
    payToken,
    exhaustedToken: await token({ debitAmount: amount(0) }),
    reserveToken: await token(),
    quoteToken: await requestToken(system, shop, [{ type: 'quote', actions: ['create', 'read'] }]),
    payment: (await pay(system, shop, payToken, receiver.url, 100n)).textAt('id')
  }
}

/**
 * Forgets the reservations that requests made themselves, because every audit would read each of them, and that the resource server
 * gave them up, which had no payments for them.
 */
export async function forgetReservations({ system, reserveToken }: Groundwork): Promise<void> {
  const forgotten = await system.authDatabase.query<{ payment_id: string }>(
    `with forgotten as (
       delete from reservation r using access_token t
        where t.value_hash = sha256($1::bytea) and r.grant_id = t.grant_id returning r.payment_id, r.access_item_id),
     windows as (
       delete from limit_window w using forgotten f where w.access_item_id = f.access_item_id)
     select payment_id from forgotten`,
    [Buffer.from(reserveToken)]
  )
  await system.resourceDatabase.query(
    'delete from grant_reservation where charged_at is null and payment_id = any($1)',
    [forgotten.map(({ payment_id: id }) => id)]
  )
}

/** Every kind of request that either service answers from its database. */
export function requestKinds(): RequestKind[] {
  return [
    ...grantKinds(),
    ...tokenKinds(),
    ...interactionKinds(),
    ...limitKinds(),
    ...incomingPaymentKinds(),
    ...outgoingPaymentKinds(),
    ...walletKinds(),
    ...grantOperatorKinds(),
    ...walletOperatorKinds()
  ]
}

function grantKinds(): RequestKind[] {
  return [
    kind('a grant request that needs nobody', '200', async ({ system }) => {
      return http(() => issueToken(system))
    }),
    kind('a grant request that needs the account holder', '200', async ({ system }) => {
      return async () => {
        await requestInteractiveGrant(system, system.shop, [outgoingAccess(system)])
        return '200'
      }
    }),
    kind('a continuation', '200', async ({ system }) => {
      const grant = await pendingGrant(system)
      const finished = await interact(system, grant, 'accept')
      const body = { interact_ref: finished.searchParams.get('interact_ref') }
      const accessToken = grant.continuationToken
      return http(() => system.shop.request('POST', grant.continueUri, { accessToken, body }))
    }),
    kind('a cancellation', '204', async ({ system }) => {
      const grant = await pendingGrant(system)
      const accessToken = grant.continuationToken
      return http(() => system.shop.request('DELETE', grant.continueUri, { accessToken }))
    })
  ]
}

function tokenKinds(): RequestKind[] {
  const managing =
    (method: string) =>
    async ({ system }: Groundwork) => {
      const issued = await issueToken(system)
      const accessToken = issued.textAt('access_token.value')
      const manage = issued.textAt('access_token.manage')
      return http(() => system.shop.request(method, manage, { accessToken }))
    }
  return [
    kind('a rotation', '200', managing('POST')),
    kind('a revocation', '204', managing('DELETE')),
    kind('an introspection', 'OK', async ({ system, payToken }) => {
      return call(system.introspection, 'introspect', { accessToken: payToken, keyId: '' })
    })
  ]
}

function interactionKinds(): RequestKind[] {
  const asIdentityProvider =
    (method: string, choice: string) =>
    async ({ system }: Groundwork) => {
      const { id, nonce } = await startedInteraction(system)
      const url = `${system.identityProviderUrl()}/grant/${id}/${nonce}${choice}`
      return http(() => send(method, url, { 'x-idp-secret': system.identityProviderSecret }))
    }
  return [
    kind('a browser that starts an interaction', '303', async ({ system }) => {
      const { redirect } = await pendingGrant(system)
      return http(() => send('GET', system.reach(redirect)))
    }),
    kind('a look of the identity provider', '200', asIdentityProvider('GET', '')),
    kind('a choice to accept', '202', asIdentityProvider('POST', '/accept')),
    kind('a choice to reject', '202', asIdentityProvider('POST', '/reject')),
    kind('a browser that finishes an interaction', '303', async ({ system }) => {
      const { id, nonce, cookie } = await startedInteraction(system)
      const url = system.reach(`${system.authServerUrl}interact/${id}/${nonce}/finish`)
      return http(() => send('GET', url, { cookie }))
    })
  ]
}

function limitKinds(): RequestKind[] {
  const reserved = async (groundwork: Groundwork): Promise<string> => {
    const request = reservation(groundwork, groundwork.reserveToken)
    const results = await reserve(groundwork, [request])()
    if (results !== 'reserved') throw new Error(`a reservation was answered with ${results}`)
    return request.paymentId
  }
  return [
    kind('Reserve', 'reserved', async (groundwork) =>
      reserve(groundwork, [reservation(groundwork, groundwork.reserveToken)])
    ),
    kind('Reserve without room', 'refused', async (groundwork) =>
      reserve(groundwork, [reservation(groundwork, groundwork.exhaustedToken)])
    ),
    kind('Reserve for several', 'reserved, refused, failure', async (groundwork) => {
      const malformed = { ...reservation(groundwork, groundwork.reserveToken), receiver: 'nowhere' }
      return reserve(groundwork, [
        reservation(groundwork, groundwork.reserveToken),
        reservation(groundwork, groundwork.exhaustedToken),
        malformed
      ])
    }),
    kind('End of a settled payment', 'ended', async (groundwork) =>
      end(groundwork, [settled(await reserved(groundwork))])
    ),
    kind('End of a released payment', 'ended', async (groundwork) =>
      end(groundwork, [released(await reserved(groundwork))])
    ),
    kind('End of several', 'ended, ended, failure', async (groundwork) =>
      end(groundwork, [
        settled(await reserved(groundwork)),
        released(await reserved(groundwork)),
        settled(randomUUID())
      ])
    ),
    kind('GetSpentAmounts', 'OK', async ({ system, payToken }) => {
      return call(system.limits, 'getSpentAmounts', { accessToken: payToken })
    }),
    kind('ListOpenReservations', 'OK', async ({ system }) => {
      return call(system.limits, 'listOpenReservations', { olderThanSeconds: 0, pageSize: 0, pageToken: '' })
    }),
    kind('ListReservations', 'OK', async ({ system }) => {
      return call(system.limits, 'listReservations', { afterPaymentId: '', pageSize: 0 })
    })
  ]
}

function incomingPaymentKinds(): RequestKind[] {
  const posting =
    (headers: () => Record<string, string>) =>
    async ({ system, receiver }: Groundwork) => {
      const body = { walletAddress: system.walletAddresses.bob, incomingAmount: amount(100) }
      const options = { accessToken: receiver.token, body, headers: headers() }
      return http(() => system.shop.request('POST', `${system.resourceServerUrl}/incoming-payments`, options))
    }
  return [
    kind(
      'an incoming payment',
      '201',
      posting(() => ({}))
    ),
    kind(
      'an incoming payment with an idempotency key',
      '201',
      posting(() => ({ 'idempotency-key': randomUUID() }))
    ),
    kind('a look at an incoming payment', '200', async ({ system, receiver }) => {
      return http(() => system.shop.request('GET', receiver.url, { accessToken: receiver.token }))
    }),
    kind('a public look at an incoming payment', '200', async ({ system, receiver }) => {
      return http(() => send('GET', system.reach(receiver.url)))
    }),
    kind('a list of incoming payments', '200', async ({ system, receiver }) => {
      const url = listUrl(system, 'incoming-payments', system.walletAddresses.bob)
      return http(() => system.shop.request('GET', url, { accessToken: receiver.token }))
    }),
    kind('a completion', '200', async ({ system }) => {
      const { url, token } = await createReceiver(system, system.shop)
      return http(() => system.shop.request('POST', `${url}/complete`, { accessToken: token }))
    })
  ]
}

function outgoingPaymentKinds(): RequestKind[] {
  const reading = (urlOf: (groundwork: Groundwork) => string) => async (groundwork: Groundwork) => {
    const { system, payToken } = groundwork
    return http(() => system.shop.request('GET', urlOf(groundwork), { accessToken: payToken }))
  }
  return [
    kind('a quote', '201', async (groundwork) => http(() => createQuote(groundwork))),
    kind('a look at a quote', '200', async (groundwork) => {
      const { system, quoteToken } = groundwork
      const url = (await createQuote(groundwork)).textAt('id')
      return http(() => system.shop.request('GET', url, { accessToken: quoteToken }))
    }),
    kind('a payment', '201', async ({ system, payToken, receiver }) => {
      return http(() => pay(system, system.shop, payToken, receiver.url, 100n))
    }),
    kind('a payment from a quote', '201', async (groundwork) => {
      const { system, payToken } = groundwork
      const quoteId = (await createQuote(groundwork)).textAt('id')
      const body = { walletAddress: system.walletAddresses.alice, quoteId }
      const options = { accessToken: payToken, body }
      return http(() => system.shop.request('POST', `${system.resourceServerUrl}/outgoing-payments`, options))
    }),
    kind('a payment that the grant has no room for', '403', async ({ system, exhaustedToken, receiver }) => {
      return http(() => pay(system, system.shop, exhaustedToken, receiver.url, 100n))
    }),
    kind(
      'a look at a payment',
      '200',
      reading(({ payment }) => payment)
    ),
    kind(
      'a list of payments',
      '200',
      reading(({ system }) => listUrl(system, 'outgoing-payments', system.walletAddresses.alice))
    ),
    kind(
      'a look at what a grant has spent',
      '200',
      reading(({ system }) => `${system.resourceServerUrl}/outgoing-payment-grant`)
    )
  ]
}

function walletKinds(): RequestKind[] {
  const getting =
    (suffix: string) =>
    async ({ system }: Groundwork) =>
      http(() => send('GET', system.reach(`${system.walletAddresses.bob}${suffix}`)))
  return [
    kind('a wallet address', '200', getting('')),
    kind('the keys of a wallet address', '200', getting('/jwks.json'))
  ]
}

function grantOperatorKinds(): RequestKind[] {
  return [
    kind('ListGrants', 'OK', async ({ system }) => {
      return call(system.grantOperator, 'listGrants', auth.ListGrantsRequest.fromPartial({ pageSize: 20 }))
    }),
    kind('RevokeGrant', 'OK', async ({ system }) => {
      const issued = await issueToken(system)
      const grantId = issued.textAt('continue.uri').split('/').at(-1) ?? ''
      return call(system.grantOperator, 'revokeGrant', { grantId })
    }),
    kind('AuditLimits', 'OK', async ({ system }) => call(system.grantOperator, 'auditLimits', {}))
  ]
}

function walletOperatorKinds(): RequestKind[] {
  const asset = { code: 'USD', scale: 2 }
  const accountName = 'bob'
  const newWalletAddress = async (system: ConnectedSystem): Promise<string> => {
    const path = `/${randomUUID()}`
    const request = { path, publicName: '', accountName }
    await callUnary(system.operator, 'createWalletAddress', request, { idempotent: false })
    return `${system.resourceServerUrl}${path}`
  }
  const newKey = async (system: ConnectedSystem): Promise<wallet.AddClientKeyRequest> => {
    const { kid, x } = createTestKey('key').jwk
    return { walletAddress: await newWalletAddress(system), kid, x }
  }
  return [
    kind('CreateAsset', 'OK', async ({ system }) => {
      return call(system.operator, 'createAsset', {
        asset: { code: randomUUID().slice(0, 30).toUpperCase(), scale: 2 }
      })
    }),
    kind('ListAssets', 'OK', async ({ system }) => call(system.operator, 'listAssets', {})),
    kind('CreateAccount', 'OK', async ({ system }) => {
      return call(system.operator, 'createAccount', { name: randomUUID(), asset })
    }),
    kind('ListAccounts', 'OK', async ({ system }) => {
      return call(system.operator, 'listAccounts', wallet.ListAccountsRequest.fromPartial({}))
    }),
    kind('CreateWalletAddress', 'OK', async ({ system }) => {
      const request = { path: `/${randomUUID()}`, publicName: '', accountName }
      return call(system.operator, 'createWalletAddress', request)
    }),
    kind('ListWalletAddresses', 'OK', async ({ system }) => {
      return call(system.operator, 'listWalletAddresses', wallet.ListWalletAddressesRequest.fromPartial({}))
    }),
    kind('AddClientKey', 'OK', async ({ system }) => {
      return call(system.operator, 'addClientKey', await newKey(system))
    }),
    kind('RevokeClientKey', 'OK', async ({ system }) => {
      const key = await newKey(system)
      await callUnary(system.operator, 'addClientKey', key, { idempotent: false })
      return call(system.operator, 'revokeClientKey', { walletAddress: key.walletAddress, kid: key.kid })
    }),
    kind('Deposit', 'OK', async ({ system }) => {
      return call(system.operator, 'deposit', { depositId: randomUUID(), accountName, value: '1000' })
    }),
    kind('Withdraw', 'OK', async ({ system }) => {
      const withdrawalId = randomUUID()
      return call(system.operator, 'withdraw', { withdrawalId, accountName: 'carol', value: '1' })
    }),
    kind('ListPayments', 'OK', async ({ system }) => {
      const paymentKind = wallet.PaymentKind.PAYMENT_KIND_OUTGOING
      const request = wallet.ListPaymentsRequest.fromPartial({ kind: paymentKind })
      return call(system.operator, 'listPayments', request)
    }),
    {
      ...kind('Audit', 'OK', async ({ system }) => {
        return call(system.operator, 'audit', wallet.AuditRequest.fromPartial({}))
      }),
      racingMax: AUDITS_RACING_MAX
    }
  ]
}

function kind(name: string, answer: string, prepare: RequestKind['prepare']): RequestKind {
  return { name, answer, prepare }
}

function http(request: () => Promise<Answer>): () => Promise<string> {
  return async () => String((await request()).status)
}

type Operated = ConnectedSystem['operator' | 'grantOperator' | 'limits' | 'introspection']

function call<Client extends Operated, Name extends UnaryMethodName<Client>>(
  client: Client,
  method: Name,
  request: RequestOf<Client, Name>
): () => Promise<string> {
  return async () => {
    // Not repeated, because automatic retries would hide a failure.
    const answered: ResponseOf<Client, Name> = await callUnary(client, method, request, { idempotent: false })
    return answered === undefined ? 'nothing' : 'OK'
  }
}

function issueToken({ shop, authServerUrl }: ConnectedSystem): Promise<Answer> {
  const access = [{ type: 'quote', actions: ['create'] }]
  return shop.request('POST', authServerUrl, {
    body: { client: shop.walletAddress, access_token: { access } }
  })
}

function pendingGrant(system: ConnectedSystem): Promise<PendingGrant> {
  return requestInteractiveGrant(system, system.shop, [outgoingAccess(system)])
}

async function startedInteraction(system: ConnectedSystem): Promise<OpenInteraction> {
  return openInteraction(system, await pendingGrant(system))
}

function createQuote({ system, quoteToken, receiver }: Groundwork): Promise<Answer> {
  const body = {
    walletAddress: system.walletAddresses.alice,
    receiver: receiver.url,
    method: 'ilp',
    debitAmount: amount(100)
  }
  return system.shop.request('POST', `${system.resourceServerUrl}/quotes`, { accessToken: quoteToken, body })
}

/** Reserves. Returns the result of each. */
function reserve({ system }: Groundwork, reservations: auth.ReservationRequest[]): () => Promise<string> {
  return async () => {
    const { results } = await callUnary(system.limits, 'reserve', { reservations }, { idempotent: false })
    return results.map(({ result }) => result?.$case).join(', ')
  }
}

/** Ends reservations. Returns the result of each. */
function end({ system }: Groundwork, ends: auth.ReservationEnd[]): () => Promise<string> {
  return async () => {
    const { results } = await callUnary(system.limits, 'end', { ends }, { idempotent: false })
    return results.map(({ result }) => result?.$case).join(', ')
  }
}

function settled(paymentId: string): auth.ReservationEnd {
  return {
    paymentId,
    end: { $case: 'settlement', value: { settledDebitValue: '60', settledReceiveValue: '50' } }
  }
}

function released(paymentId: string): auth.ReservationEnd {
  return { paymentId, end: { $case: 'release', value: {} } }
}

function reservation({ system, receiver }: Groundwork, accessToken: string): auth.ReservationRequest {
  const reserved = auth.Amount.fromPartial(amount(100))
  return {
    paymentId: randomUUID(),
    accessToken,
    walletAddress: system.walletAddresses.alice,
    receiver: receiver.url,
    debitAmount: reserved,
    receiveAmount: reserved,
    requestHash: randomBytes(32)
  }
}

function listUrl(system: ConnectedSystem, collection: string, walletAddress: string): string {
  return `${system.resourceServerUrl}/${collection}?wallet-address=${encodeURIComponent(walletAddress)}`
}
