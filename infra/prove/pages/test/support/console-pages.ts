import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  consentedToken,
  createReceiver,
  eventually,
  outgoingAccess,
  pay
} from '@open-payments-server/acceptance'
import { callUnary } from '@open-payments-server/grpc-transport'
import { events, wallet } from '@open-payments-server/proto'
import type { TestBrowser } from '@open-payments-server/testing/browser'
import type { Page } from 'playwright-core'
import { type ConsoleSetting, signInAs } from './console-setting.js'
import type { Look } from './holder-pages.js'
import { createPeerWithin, type LossyPeer, startLossyPeer } from './lossy-peer.js'

const READ = { idempotent: true }
const ONCE = { idempotent: false }
/** From which amount on a deposit awaits a second person: more than every account begins with. */
export const SECOND_PERSON_FROM = '2000000.00 USD, 2000000.00 EUR'
/** The peer of which an answer got lost. */
const LOSSY_PEER = 'north'

/** What there is to see. */
interface Things {
  readonly ids: {
    readonly payment: string
    readonly receiver: string
    readonly grant: string
    readonly endpoint: string
    readonly approved: string
    readonly declined: string
  }
  readonly lossy: LossyPeer
  readonly hook: Server
}

interface Looking extends Things {
  readonly setting: ConsoleSetting
  readonly pages: Readonly<Record<'victor' | 'olivia' | 'anna' | 'nobody', Page>>
  readonly look: Look
}

/**
 * Brings a browser to every page of the console, to every act before and after it is done, and to what is refused.
 *
 * @param setting in which {@link SECOND_PERSON_FROM} is set
 */
export async function visitConsolePages(
  setting: ConsoleSetting,
  browser: TestBrowser,
  look: Look
): Promise<void> {
  const signedIn = async (name: keyof Looking['pages']): Promise<Page> => {
    const page = await (await browser.newContext()).newPage()
    await page.goto(`${setting.console}/`)
    await signInAs(page, name)
    return page
  }
  const things = await makeThings(setting)
  try {
    const pages = {
      ...{ victor: await signedIn('victor'), olivia: await signedIn('olivia') },
      ...{ anna: await signedIn('anna'), nobody: await signedIn('nobody') }
    }
    const looking = { ...things, setting, pages, look }
    await visitActs(looking)
    await visitProposals(looking)
    await visitRefusals(looking)
    await visitPages(looking)
  } finally {
    await things.lossy.stop()
    things.hook.close()
    things.hook.closeAllConnections()
  }
}

async function makeThings(setting: ConsoleSetting): Promise<Things> {
  const { system } = setting
  const lossy = await startLossyPeer(system, LOSSY_PEER)
  await createPeerWithin(system, { name: 'east', ilpAddress: 'test.east', endpoint: 'http://127.0.0.1:9/' })
  const hook = createServer((request, response) => {
    request.resume()
    response.end()
  })
  hook.listen(0, '127.0.0.1')
  await once(hook, 'listening')
  const endpoint = async (url: string): Promise<string> => {
    const request = events.CreateWebhookEndpointRequest.fromPartial({ url })
    const webhooks = system.webhooks['resource-server']
    return (await callUnary(webhooks, 'createWebhookEndpoint', request, ONCE)).endpoint?.id ?? ''
  }
  const endpointId = await endpoint(`http://127.0.0.1:${String((hook.address() as AddressInfo).port)}/`)
  await endpoint('http://127.0.0.1:9/')
  const payments = await makePayments(setting, lossy)
  await processed(setting)
  await countHours(setting)
  return { ids: { ...payments, endpoint: endpointId }, lossy, hook }
}

/** Some that are paid, two that await approval, and one to the other provider of which nothing is known. */
async function makePayments(
  { system }: ConsoleSetting,
  lossy: LossyPeer
): Promise<Omit<Things['ids'], 'endpoint'>> {
  const receiver = await createReceiver(system, system.shop)
  const debitAmount = { value: '500000', assetCode: 'USD', assetScale: 2 }
  const { token, grant } = await consentedToken(system, system.shop, [
    outgoingAccess(system, { debitAmount, interval: 'R/2026-01-01T00:00:00Z/P1M' })
  ])
  const paid = async (value: bigint): Promise<string> =>
    (await pay(system, system.shop, token, receiver.url, value)).textAt('id')
  for (const value of [1_234n, 2_500n, 40_000n]) await paid(value)
  const payment = await paid(4_321n)
  const rule = wallet.CreateApprovalRuleRequest.fromPartial({ aboveValue: '50000' })
  await callUnary(system.operator, 'createApprovalRule', rule, ONCE)
  const [approved, declined] = [await paid(60_000n), await paid(70_000n)]
  await paid(80_000n)
  // The call would await a second person.
  await system.resourceDatabase.query('delete from approval_rule')
  await lossy.payAndLose(token, 1_250n)
  await lossy.giveUpAnswers()
  const grantId = grant.continueUri.slice(-36)
  return { payment, receiver: receiver.url, grant: grantId, approved, declined }
}

/** Waits until all that can go on by itself has ended. */
function processed({ system }: ConsoleSetting): Promise<void> {
  const query = "select 1 from outgoing_payment where state = 'pending' and peer_id is null limit 1"
  return eventually(
    'the payments are processed',
    async () => (await system.resourceDatabase.query(query)).length === 0
  )
}

/** As if payments had been made for a day. */
async function countHours({ system }: ConsoleSetting): Promise<void> {
  await system.resourceDatabase.query(
    `insert into payment_hour (started_at, created_count, completed_count, failed_count)
     select date_trunc('hour', $1::timestamptz) - n * interval '1 hour', 40 + n * 37 % 50, 38 + n * 37 % 50, n * 5 % 7
       from generate_series(1, 23) n`,
    [new Date(system.clock.now())]
  )
}

function at(path: string, query: Readonly<Record<string, string>>): string {
  return `${path}?${new URLSearchParams(query).toString()}`
}

/** Sends the form of a page, with what was filled in. */
async function send(page: Page): Promise<void> {
  await Promise.all([page.waitForEvent('load'), page.click('form.confirm button.primary')])
}

async function fill(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(fields)) {
    const field = page.locator(`form.confirm [name="${name}"]`)
    if ((await field.evaluate((element) => element.tagName)) === 'SELECT') await field.selectOption(value)
    else await field.fill(value)
  }
}

/** Does something, and looks at each page of it: `act-<name>`, `-amount` where one is shown first, and `-done`. */
async function act(
  { setting, pages, look }: Looking,
  name: string,
  by: 'victor' | 'olivia' | 'anna',
  subject: string,
  fields: Readonly<Record<string, string>> = {}
): Promise<void> {
  const page = pages[by]
  await page.goto(`${setting.console}${at(`/act/${name}`, { subject })}`)
  await look(`act-${name}`, page)
  await fill(page, fields)
  await send(page)
  if ('amount' in fields) {
    await look(`act-${name}-amount`, page)
    await send(page)
  }
  const note = await page.textContent('.note')
  if (note !== 'Done.') throw new Error(`${name} was not done: ${String(note)}`)
  await look(`act-${name}-done`, page)
}

async function visitActs(looking: Looking): Promise<void> {
  const { setting, ids } = looking
  const { system } = setting
  const { carol, market } = system.walletAddresses
  const endpoint = `resource-server ${ids.endpoint}`
  const reason = { reason: 'phone stolen, ticket 4711' }
  await act(looking, 'freeze-account', 'olivia', 'carol', reason)
  await act(looking, 'unfreeze-account', 'olivia', 'carol', { reason: 'phone found' })
  await act(looking, 'freeze-wallet-address', 'olivia', carol, reason)
  await act(looking, 'unfreeze-wallet-address', 'olivia', carol)
  await act(looking, 'freeze-client', 'olivia', system.shop.walletAddress, reason)
  await act(looking, 'unfreeze-client', 'olivia', system.shop.walletAddress)
  await act(looking, 'deposit', 'olivia', 'bob', { amount: '1250.00' })
  await act(looking, 'withdraw', 'olivia', 'bob', { amount: '2.50' })
  await act(looking, 'refund-payment', 'olivia', ids.payment, { amount: '10.00' })
  await act(looking, 'revoke-key', 'olivia', `market-key ${market}`)
  await act(looking, 'settle-peer', 'olivia', 'east', { amount: '7.00', reference: 'bank 4711' })
  await act(looking, 'disable-endpoint', 'olivia', endpoint)
  await act(looking, 'enable-endpoint', 'olivia', endpoint)
  await act(looking, 'replay-endpoint', 'olivia', endpoint, { after: '2026-01-01' })
  await act(looking, 'approve-payment', 'anna', ids.approved)
  await act(looking, 'decline-payment', 'anna', ids.declined, { reason: 'not theirs' })
  await act(looking, 'run-audit', 'victor', 'all')
  const request = { name: LOSSY_PEER, pageSize: 1, pageToken: '' }
  const { packets } = await callUnary(system.peers, 'listUnknownPackets', request, READ)
  // Before it is decided: afterwards there is none.
  await looking.pages.olivia.goto(`${setting.console}/peers/${LOSSY_PEER}`)
  await looking.look('peer-unknown-packet', looking.pages.olivia)
  const condition = packets[0]?.condition ?? ''
  await act(looking, 'decide-packet', 'olivia', `${LOSSY_PEER} ${condition}`, { arrived: 'yes' })
  const { grant } = await consentedToken(system, system.shop, [outgoingAccess(system)])
  await act(looking, 'end-grant', 'olivia', grant.continueUri.slice(-36))
  await processed(setting)
}

/** What awaits a second person: one is approved, one is rejected, and one stays open. */
async function visitProposals(looking: Looking): Promise<void> {
  const { setting, pages, look } = looking
  const { olivia, anna } = pages
  for (const [number, decision] of ['approve-proposal', 'reject-proposal', undefined].entries()) {
    await olivia.goto(`${setting.console}/act/deposit?subject=bob`)
    await fill(olivia, { amount: '2000000.00' })
    await send(olivia)
    await send(olivia)
    if (number === 0) await look('act-deposit-proposed', olivia)
    const href = (await olivia.locator('main .acts a').getAttribute('href')) ?? ''
    await anna.goto(`${setting.console}${href}`)
    if (decision === undefined) await look('proposal', anna)
    else await act(looking, decision, 'anna', href.split('/').slice(2).join(' '), { reason: 'checked' })
    if (number === 0) {
      await anna.goto(`${setting.console}${href}`)
      await look('proposal-approved', anna)
    }
  }
}

async function visitRefusals({ setting, pages, look }: Looking): Promise<void> {
  const { olivia, victor, nobody } = pages
  const open = (page: Page, path: string): Promise<unknown> => page.goto(`${setting.console}${path}`)
  await open(nobody, '/')
  await look('no-role', nobody)
  await open(victor, '/act/freeze-account?subject=alice')
  await look('act-not-allowed', victor)
  await open(olivia, '/act/withdraw?subject=carol')
  await fill(olivia, { amount: '1250000.00' })
  await send(olivia)
  await send(olivia)
  await look('act-withdraw-refused', olivia)
  await open(olivia, '/act/deposit?subject=bob')
  await fill(olivia, { amount: '12,50' })
  await send(olivia)
  await look('act-deposit-amount-refused', olivia)
  for (const [name, path] of [
    ['nothing-found', at('/search', { q: 'Carla' })],
    ['not-there', '/accounts/nobody-there'],
    ['payments-badly-asked', at('/payments', { amount: 'much' })]
  ] as const) {
    await open(olivia, path)
    await look(name, olivia)
  }
}

async function visitPages({ setting, ids, pages, look }: Looking): Promise<void> {
  const { walletAddresses, shop } = setting.system
  const page = pages.olivia
  for (const [name, path] of [
    ['overview', '/'],
    ['payments', '/payments'],
    ['incoming', '/payments?kind=incoming'],
    ['search', at('/search', { q: '25.00 USD' })],
    ['payment', `/payments/${ids.payment.slice(-36)}`],
    ['payment-declined', `/payments/${ids.declined.slice(-36)}`],
    ['receiver', `/payments/${ids.receiver.slice(-36)}`],
    ['approvals', '/approvals'],
    ['accounts', '/accounts'],
    ['account', '/accounts/alice'],
    ['wallet-addresses', '/wallet-addresses'],
    ['wallet-address', at('/wallet-address', { url: walletAddresses.alice })],
    ['grants', '/grants'],
    ['grant', `/grants/${ids.grant}`],
    ['clients', '/clients'],
    ['client', at('/client', { name: shop.walletAddress })],
    ['peers', '/peers'],
    ['peer', at(`/peers/${LOSSY_PEER}`, { date: new Date().toISOString().slice(0, 10) })],
    ['endpoints', '/endpoints'],
    ['endpoint', `/endpoints/resource-server/${ids.endpoint}`],
    ['audits', '/audits'],
    ['proposals', '/proposals'],
    ['actions', '/actions']
  ] as const) {
    await page.goto(`${setting.console}${path}`)
    await look(name, page)
  }
}
