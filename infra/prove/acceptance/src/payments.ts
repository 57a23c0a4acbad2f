import type { Answer } from '@open-payments-server/testing'
import type { ConnectedSystem, TestClient, WalletName } from './connect-system.js'
import { requestToken } from './consent.js'

/** An amount in the smallest units of a wallet's asset, on the wire. */
export function amount(value: bigint | number, assetCode = 'USD'): object {
  return { value: String(value), assetCode, assetScale: 2 }
}

/** Creates an incoming payment as a client with every right to it. Returns its URL. */
export async function createReceiver(
  system: ConnectedSystem,
  client: TestClient,
  options: { wallet?: WalletName; incoming?: bigint; assetCode?: string } = {}
): Promise<{ url: string; token: string }> {
  const walletAddress = system.walletAddresses[options.wallet ?? 'bob']
  const token = await requestToken(system, client, [
    { type: 'incoming-payment', actions: ['create', 'read', 'list', 'complete'], identifier: walletAddress }
  ])
  const answer = await client.request('POST', `${system.resourceServerUrl}/incoming-payments`, {
    accessToken: token,
    body: {
      walletAddress,
      ...(options.incoming === undefined
        ? {}
        : { incomingAmount: amount(options.incoming, options.assetCode) })
    }
  })
  if (answer.status !== 201) throw new Error(`no incoming payment: ${String(answer.status)} ${answer.text}`)
  return { url: answer.textAt('id'), token }
}

let requestCount = 0

/** Pays an incoming payment from alice, without a quote. `metadata` makes every call a different request. */
export function pay(
  system: ConnectedSystem,
  client: TestClient,
  token: string,
  receiver: string,
  debit: bigint
): Promise<Answer> {
  requestCount += 1
  return client.request('POST', `${system.resourceServerUrl}/outgoing-payments`, {
    accessToken: token,
    body: {
      walletAddress: system.walletAddresses.alice,
      incomingPayment: receiver,
      debitAmount: amount(debit),
      metadata: { request: requestCount }
    }
  })
}

const POLL_MS = 20
const SETTLED_WITHIN_MS = 20_000

/**
 * Polls until a condition holds, while workers run.
 *
 * @throws Error naming the condition that did not hold in time
 */
export async function eventually(
  what: string,
  condition: () => Promise<boolean>,
  withinMs = SETTLED_WITHIN_MS
): Promise<void> {
  const deadline = Date.now() + withinMs
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`did not come about: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

/** Waits until no payment is pending and every reservation's outcome was delivered. */
export function allSettled(system: ConnectedSystem, withinMs?: number): Promise<void> {
  const condition = async (): Promise<boolean> => {
    const [row] = await system.resourceDatabase.query<{ open: string }>(
      `select (select count(*) from outgoing_payment where state = 'pending')
            + (select count(*) from grant_reservation where delivered_at is null) as open`
    )
    return row?.open === '0'
  }
  return eventually('all payments ended and all outcomes delivered', condition, withinMs)
}

/** Waits until no payment is pending, every outcome is delivered and no reservation is open. */
export async function converged(system: ConnectedSystem, withinMs?: number): Promise<void> {
  const nothingOpen = async (): Promise<boolean> => {
    await allSettled(system, withinMs)
    const open = await system.authDatabase.query(`select 1 from reservation where state = 'open' limit 1`)
    return open.length === 0
  }
  await eventually('no reservation is open', nothingOpen, withinMs)
  // The last releases may have been recorded after the outcomes were checked.
  await allSettled(system, withinMs)
}
