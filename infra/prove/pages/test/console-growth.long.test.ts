import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { consentedToken, createReceiver, outgoingAccess, pay } from '@open-payments-server/acceptance'
import {
  explainStatements,
  fillOperated,
  fillSystem,
  findBigTables,
  findPlanFaults,
  GROWN_PEER
} from '@open-payments-server/growth'
import { callUnary } from '@open-payments-server/grpc-transport'
import { events, wallet } from '@open-payments-server/proto'
import { createTestKey } from '@open-payments-server/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import {
  type ConsoleSetting,
  signInAs,
  startBrowser,
  startConsole,
  withBrowser
} from './support/console-setting.js'
import { type LossyPeer, startLossyPeer } from './support/lossy-peer.js'
import { TimedVisitor, unescaped } from './support/timed-visitor.js'

/** Number of payments that there are. */
const PAYMENT_COUNT = Number(process.env.CONSOLE_TEST_PAYMENTS ?? '1000000')
/** How often each page is asked for, and each act done. */
const TIMES = Number(process.env.CONSOLE_TEST_TIMES ?? '40')
/** How often something is decided about a packet: each one takes another provider. */
const PACKETS = Math.min(TIMES, 10)
/** The 95th percentile must be within this, in milliseconds. */
const P95_MAX_MS = Number(process.env.CONSOLE_TEST_P95_MAX_MS ?? '300')
/** Number of rows from which a table counts as big. */
const BIG = 10_000
/** The most rows that a step of a statement may read or sort: a statement adds up what a peer's day has. */
const ROWS_MAX = PAYMENT_COUNT / 10
const FILL_TIMEOUT_MS = 3_600_000
const READ = { idempotent: true }
const ONCE = { idempotent: false }
/** The peer of which answers get lost. */
const LOSSY_PEER = 'lossy'

type Name = 'victor' | 'olivia' | 'anna'

/** What is done, by whom, and with what. */
interface TimedAct {
  readonly act: string
  readonly by: Exclude<Name, 'victor'>
  /** @param time the number of times that it was done before */
  readonly subject: (time: number) => string
  readonly fields?: Readonly<Record<string, string>>
  /** Field whose value is another one each time. */
  readonly unlike?: string
  readonly times?: number
}

/** Waits until the days of all peers are closed that are over for an hour. */
async function daysClosed({ resourceDatabase }: ConsoleSetting['system']): Promise<void> {
  const open = `select count(*)::integer as count from peer p where not exists (
    select from peer_day d where d.peer_id = p.id and d.ended_at > now() - interval '25 hours')`
  while ((await resourceDatabase.query<{ count: number }>(open))[0]?.count !== 0) await delay(1_000)
}

withBrowser('the console with many payments', () => {
  let setting: ConsoleSetting
  let hook: Server
  let lossy: LossyPeer
  let endpointId: string
  /** Milliseconds by what was asked for. */
  const times = new Map<string, number[]>()
  const visitors = {} as Record<Name, TimedVisitor>

  beforeAll(async () => {
    // More than every account begins with.
    setting = await startConsole({ OPERATOR_SECOND_PERSON_FROM: '2000000.00 USD, 2000000.00 EUR' })
    const { system } = setting
    hook = createServer((request, response) => {
      request.resume()
      response.end()
    })
    hook.listen(0, '127.0.0.1')
    await once(hook, 'listening')
    const url = `http://127.0.0.1:${String((hook.address() as AddressInfo).port)}/`
    const request = events.CreateWebhookEndpointRequest.fromPartial({ url })
    const webhooks = system.webhooks['resource-server']
    endpointId = (await callUnary(webhooks, 'createWebhookEndpoint', request, ONCE)).endpoint?.id ?? ''
    const begun = Date.now()
    const plan = await fillSystem(system, { paymentCount: PAYMENT_COUNT, walletCount: 20_000 })
    await fillOperated(system, plan, endpointId)
    await daysClosed(system)
    console.log(`filled in ${String(Math.round((Date.now() - begun) / 1_000))} s`)
    lossy = await startLossyPeer(system, LOSSY_PEER)
    const browser = await startBrowser()
    for (const name of ['victor', 'olivia', 'anna'] as const) {
      const context = await browser.newContext()
      const page = await context.newPage()
      await page.goto(`${setting.console}/`)
      await signInAs(page, name)
      const cookies = await context.cookies(setting.console)
      const cookie = cookies.map((each) => `${each.name}=${each.value}`).join('; ')
      visitors[name] = new TimedVisitor(setting.console, cookie, times)
    }
    await browser.close()
  }, FILL_TIMEOUT_MS)
  afterAll(async () => {
    await setting.stop()
    await lossy.stop()
    hook.close()
    hook.closeAllConnections()
  })

  const of = (path: string, query: Readonly<Record<string, string>>): string =>
    `${path}?${new URLSearchParams(query).toString()}`
  const at = (sorted: readonly number[], share: number): number =>
    Math.round(sorted[Math.ceil(sorted.length * share) - 1] ?? 0)
  /** Says how long everything took, and which of it too long. */
  const slowOnes = (): string[] => {
    const sorted = [...times].map(([name, each]) => [name, each.toSorted((a, b) => a - b)] as const)
    const lines = sorted.map(
      ([name, each]) => `${name}: p50 ${String(at(each, 0.5))} ms, p95 ${String(at(each, 0.95))} ms`
    )
    console.log(`${String(PAYMENT_COUNT)} payments, ${String(TIMES)} times each\n${lines.join('\n')}`)
    times.clear()
    return sorted.flatMap(([name, each]) => (at(each, 0.95) > P95_MAX_MS ? [name] : []))
  }

  /** The pages, by what they show. */
  const pathsOf = async (): Promise<Readonly<Record<string, string>>> => {
    const found = async (path: string, link: RegExp): Promise<string> =>
      unescaped(link.exec((await visitors.victor.get(path)).text)?.[0] ?? '')
    const payment = await found('/payments', /\/payments\/[0-9a-f-]{36}/)
    const grown = await found('/wallet-addresses', /\/wallet-address\?url=[^"]*grown-0/)
    const walletAddress = new URL(grown, setting.console).searchParams.get('url') ?? ''
    const client = setting.system.shop.walletAddress
    const dayAgo = (days: number): string =>
      new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)
    const day = dayAgo(10)
    const operator = 'person-3 at https://login.example'
    return {
      overview: '/',
      payments: '/payments',
      'payments, next page': await found('/payments', /\/payments\?kind=outgoing[^"]*after=[^"]+/),
      'payments by amount': of('/payments', { amount: '1.00 USD' }),
      'payments of a day': of('/payments', { from: day, until: day }),
      'payments of a client': of('/payments', { client }),
      'payments from a wallet address': of('/payments', { wallet: walletAddress }),
      'payments from a wallet address by a client': of('/payments', { wallet: walletAddress, client }),
      'payments from a wallet address by amount': of('/payments', {
        ...{ wallet: walletAddress, amount: '1.00 USD' }
      }),
      'failed payments': of('/payments', { state: 'failed' }),
      'payments that wait': of('/payments', { state: 'awaiting_approval' }),
      'incoming payments': '/payments?kind=incoming',
      'incoming payments by amount': of('/payments', { kind: 'incoming', amount: '1.00 USD' }),
      'incoming payments of a client': of('/payments', { kind: 'incoming', client }),
      'incoming payments of a wallet address': of('/payments', { kind: 'incoming', wallet: walletAddress }),
      'a payment': payment,
      'a payment of last month': await found(
        of('/payments', { until: dayAgo(25) }),
        /\/payments\/[0-9a-f-]{36}/
      ),
      'an incoming payment': await found('/payments?kind=incoming', /\/payments\/[0-9a-f-]{36}/),
      approvals: '/approvals',
      accounts: '/accounts',
      'an account': await found('/accounts', /\/accounts\/grown-[0-9]+/),
      'an account with many payments': '/accounts/grown-0',
      'wallet addresses': '/wallet-addresses',
      'a wallet address': grown,
      grants: '/grants',
      'grants in a state': of('/grants', { state: 'revoked' }),
      'grants of a wallet address': of('/grants', { wallet: walletAddress }),
      'a grant': await found('/grants', /\/grants\/[0-9a-f-]{36}/),
      clients: '/clients',
      'a client': of('/client', { name: client }),
      peers: '/peers',
      'peers, next page': await found('/peers', /\/peers\?after=[^"]+/),
      'a peer': of(`/peers/${GROWN_PEER}`, { date: dayAgo(2) }),
      'a peer, next page': await found(
        of(`/peers/${GROWN_PEER}`, { date: dayAgo(2) }),
        /\/peers\/[^"]*after=[^"]+/
      ),
      'a peer, a month ago': of(`/peers/${GROWN_PEER}`, { date: dayAgo(28) }),
      'a peer without packets': '/peers/grown-7',
      endpoints: '/endpoints',
      'endpoints, next page': await found('/endpoints', /\/endpoints\?service=[^"]*after=[^"]+/),
      'an endpoint': `/endpoints/resource-server/${endpointId}`,
      'an endpoint, next page': await found(
        `/endpoints/resource-server/${endpointId}`,
        /\/endpoints\/resource-server\/[^"]*after=[^"]+/
      ),
      audits: '/audits',
      proposals: '/proposals',
      'proposals, next page': await found('/proposals', /\/proposals\?[^"]*after=[^"]+/),
      'open proposals': '/proposals?state=open',
      'a proposal': await found('/proposals', /\/proposals\/resource-server\/[0-9a-f-]{36}/),
      'action log': '/actions',
      'action log, next page': await found('/actions', /\/actions\?[^"]*after=[^"]+/),
      'acts of an operator': of('/actions', { by: operator }),
      'acts on a subject': of('/actions', { subject: 'grown-5' }),
      'acts of a day': of('/actions', { day }),
      'acts of an operator on a subject': of('/actions', { by: operator, subject: 'grown-5' }),
      'acts at the auth server': of('/actions', { service: 'auth-server' }),
      'search by id': of('/search', { q: payment.split('/').at(-1) ?? '' }),
      'search by amount': of('/search', { q: '1.00 USD' }),
      'search by day': of('/search', { q: day }),
      'search by wallet address': of('/search', { q: walletAddress }),
      'search by account': of('/search', { q: 'grown-0' })
    }
  }

  it(
    'has no slow page',
    async () => {
      for (const [name, path] of Object.entries(await pathsOf())) {
        expect([name, path]).not.toEqual([name, ''])
        for (let time = 0; time < TIMES; time += 1) {
          const { status } = await visitors.victor.get(path, name)
          expect([name, status, setting.log]).toEqual([name, 200, []])
        }
      }
      expect(slowOnes()).toEqual([])
    },
    FILL_TIMEOUT_MS
  )

  it(
    'reads no whole table for a page',
    async () => {
      const { runningAuthServers, runningResourceServers, authDatabase, resourceDatabase } = setting.system
      const parts = await Promise.all(
        (
          [
            [runningAuthServers[0], authDatabase],
            [runningResourceServers[0], resourceDatabase]
          ] as const
        ).map(async ([running, database]) => {
          if (running === undefined) throw new Error('nothing runs')
          const limits = { bigTables: await findBigTables(database, BIG), rowsMax: ROWS_MAX }
          return { limits, explainer: explainStatements(running.pool, { carriedOut: true }) }
        })
      )
      for (const path of Object.values(await pathsOf())) await visitors.victor.get(path)
      for (const { limits, explainer } of parts) {
        explainer.stop()
        const { statements, failures } = explainer
        const faults = [...statements.values()].flatMap(({ text, plans }) =>
          plans.flatMap((plan) => findPlanFaults(plan, limits)).map((fault) => `${fault}: ${text}`)
        )
        expect([failures, [...new Set(faults)]]).toEqual([[], []])
        expect(limits.bigTables.size).toBeGreaterThan(0)
        expect(statements.size).toBeGreaterThan(5)
      }
    },
    FILL_TIMEOUT_MS
  )

  /** Ids (UUID) of outgoing payments that await approval. */
  const awaitingPayments = async (count: number): Promise<string[]> => {
    const { system } = setting
    const receiver = await createReceiver(system, system.shop)
    const { token } = await consentedToken(system, system.shop, [outgoingAccess(system)])
    const rule = wallet.CreateApprovalRuleRequest.fromPartial({ aboveValue: '100' })
    await callUnary(system.operator, 'createApprovalRule', rule, ONCE)
    const urls: string[] = []
    for (let number = 0; number < count; number += 1)
      urls.push((await pay(system, system.shop, token, receiver.url, 101n)).textAt('id'))
    // The call would await a second person.
    await system.resourceDatabase.query('delete from approval_rule')
    return urls
  }
  /** Subjects of what awaits a second person. */
  const proposals = async (count: number): Promise<string[]> => {
    const { olivia } = visitors
    const made: string[] = []
    for (let number = 0; number < count; number += 1) {
      const asked = await olivia.get('/act/deposit?subject=grown-5')
      const shown = await olivia.send(asked, { amount: '2000000.00' })
      const { status, text } = await olivia.send(shown, {}, 'deposit, proposed')
      expect(status).toBe(202)
      const [, service = '', id = ''] = /\/proposals\/([a-z-]+)\/([0-9a-f-]{36})/.exec(text) ?? []
      made.push(`${service} ${id}`)
    }
    return made
  }
  /** Subjects of packets of which nothing is known. */
  const unknownPackets = async (): Promise<string[]> => {
    const { system } = setting
    const { token } = await consentedToken(system, system.shop, [outgoingAccess(system)])
    for (let number = 0; number < PACKETS; number += 1) await lossy.payAndLose(token, 100n)
    await lossy.giveUpAnswers()
    const request = { name: LOSSY_PEER, pageSize: PACKETS, pageToken: '' }
    const { packets } = await callUnary(system.peers, 'listUnknownPackets', request, READ)
    expect(packets).toHaveLength(PACKETS)
    return packets.map(({ condition }) => `${LOSSY_PEER} ${condition}`)
  }
  const addKeys = async (): Promise<void> => {
    const { walletAddress } = setting.system.market
    for (let time = 0; time < TIMES; time += 1) {
      const kid = `key-${String(time)}`
      const key = { walletAddress, kid, x: createTestKey(kid).jwk.x }
      await callUnary(setting.system.operator, 'addClientKey', key, ONCE)
    }
  }
  const perform = async ({ act, by, subject, unlike, ...timed }: TimedAct, time: number): Promise<void> => {
    const fields = { ...timed.fields, ...(unlike === undefined ? {} : { [unlike]: `time ${String(time)}` }) }
    const visitor = visitors[by]
    const asked = await visitor.get(of(`/act/${act}`, { subject: subject(time) }), `${act}, asked`)
    expect([act, asked.status]).toEqual([act, 200])
    const isMoved = 'amount' in fields
    const shown = isMoved ? await visitor.send(asked, fields, `${act}, amount shown`) : asked
    const done = await visitor.send(shown, isMoved ? {} : fields, `${act}, done`)
    const note = /<p class="note[^>]*>([^<]*)/.exec(done.text)?.[1]
    expect([act, subject(time), done.status, note]).toEqual([act, subject(time), 200, 'Done.'])
  }

  it(
    'does nothing slowly',
    async () => {
      const { system } = setting
      const awaiting = await awaitingPayments(2 * TIMES)
      const proposed = await proposals(2 * TIMES)
      const unknown = await unknownPackets()
      await addKeys()
      const idsOf = async (database: typeof system.authDatabase, query: string): Promise<string[]> =>
        (await database.query<{ id: string }>(`${query} limit $1`, [TIMES])).map(({ id }) => id)
      const paid = await idsOf(
        system.resourceDatabase,
        `select id from outgoing_payment where state = 'completed' order by created_at`
      )
      const grants = await idsOf(
        system.authDatabase,
        `select id from grant_request where state = 'issued' order by created_at`
      )
      const each = (subjects: readonly string[], first = 0) => {
        return (time: number): string => subjects[first + time] ?? ''
      }
      const always = (subject: string) => () => subject
      const { resourceServerUrl, market } = system
      const [payer, endpoint] = [`${resourceServerUrl}/grown-2`, `resource-server ${endpointId}`]
      const acts: readonly TimedAct[] = [
        { act: 'freeze-account', by: 'olivia', subject: always('grown-1') },
        { act: 'unfreeze-account', by: 'olivia', subject: always('grown-1') },
        { act: 'freeze-wallet-address', by: 'olivia', subject: always(payer) },
        { act: 'unfreeze-wallet-address', by: 'olivia', subject: always(payer) },
        { act: 'freeze-client', by: 'olivia', subject: always(market.walletAddress) },
        { act: 'unfreeze-client', by: 'olivia', subject: always(market.walletAddress) },
        { act: 'deposit', by: 'olivia', subject: always('grown-3'), fields: { amount: '1.00' } },
        { act: 'withdraw', by: 'olivia', subject: always('grown-0'), fields: { amount: '1.00' } },
        {
          ...{ act: 'refund-payment', by: 'olivia', fields: { amount: '0.01' } },
          subject: each(paid.map((id) => `${resourceServerUrl}/outgoing-payments/${id}`))
        },
        { act: 'approve-payment', by: 'anna', subject: each(awaiting) },
        { act: 'decline-payment', by: 'anna', subject: each(awaiting, TIMES) },
        { act: 'end-grant', by: 'olivia', subject: each(grants) },
        {
          ...{ act: 'revoke-key', by: 'olivia' },
          subject: (time) => `key-${String(time)} ${market.walletAddress}`
        },
        {
          ...{ act: 'settle-peer', by: 'olivia', subject: always(GROWN_PEER) },
          fields: { amount: '1.00' },
          unlike: 'reference'
        },
        {
          ...{ act: 'decide-packet', by: 'olivia', subject: each(unknown), fields: { arrived: 'yes' } },
          times: PACKETS
        },
        { act: 'disable-endpoint', by: 'olivia', subject: always(endpoint) },
        { act: 'enable-endpoint', by: 'olivia', subject: always(endpoint) },
        { act: 'replay-endpoint', by: 'olivia', subject: always(endpoint) },
        { act: 'approve-proposal', by: 'anna', subject: each(proposed) },
        { act: 'reject-proposal', by: 'anna', subject: each(proposed, TIMES) }
      ]
      for (let time = 0; time < TIMES; time += 1) {
        for (const act of acts) if (time < (act.times ?? TIMES)) await perform(act, time)
        // Its outcome waits for what takes as long as there is to check.
        await visitors.victor.get('/act/run-audit?subject=all', 'run-audit, asked')
      }
      expect(setting.log).toEqual([])
      expect(slowOnes()).toEqual([])
    },
    FILL_TIMEOUT_MS
  )
})
