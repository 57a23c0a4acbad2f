import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { systemClock } from '@open-payments-server/runtime'
import { type Answer, createSigningClient, createTestKey, send } from '@open-payments-server/testing'
import type { TestClient } from '../src/connect-system.js'
import { requestToken } from '../src/consent.js'
import { Front } from '../src/front.js'
import { converged, eventually } from '../src/payments.js'
import { peerSystems } from '../src/peering.js'
import { type ProcessSystem, QUICK, startProcessSystem } from '../src/process-system.js'
import { valueAt, whenEnded } from '../src/providers/crossing.js'
import { DOLLARS } from '../src/providers/provider-pair.js'
import { runOperatorCli } from '../src/run-operator-cli.js'
import { amountOf, Correspondence, openWallet, type Wallet } from '../src/wallets.js'

/** Name of the account that moves. */
const HOLDER = 'dora'
/** What it begins with, in cents. */
const DEPOSIT = 100_000n

/** The procedure of docs/scaling.md, with the commands that it names. */
describe('a wallet address that moves to another installation', () => {
  let front: Front
  let old: ProcessSystem
  let next: ProcessSystem
  let moving: Wallet
  /** The client that its holder has: requests are signed with the key of the wallet address. */
  let holder: TestClient
  const started: ProcessSystem[] = []
  let moneyBefore = 0n

  beforeAll(async () => {
    front = await Front.start()
    // It is to notice within seconds that the wallet address has moved.
    old = await start({ frontUrl: front.url, auth: { ...QUICK.auth, CLIENT_KEYS_CACHE_SECONDS: '1' } })
    front.route('/', ownOriginOf(old))
    next = await start({ resource: { ...QUICK.resource, WALLET_ADDRESS_BASE_URL: front.url } })
    await peerSystems(old, next)
    moving = await openWallet(old, HOLDER, DOLLARS, DEPOSIT)
    const key = createTestKey('dora-key')
    await operate(old, [
      'client-key',
      'add',
      moving.walletAddress,
      '--kid',
      key.jwk.kid,
      '--public-key',
      key.jwk.x
    ])
    holder = {
      ...createSigningClient({ keyId: key.jwk.kid, privateKey: key.privateKey, clock: systemClock }),
      walletAddress: moving.walletAddress,
      key
    }
    moneyBefore = await moneyOfBoth()
  })
  afterAll(async () => {
    await Promise.all(started.map((system) => system.stop()))
    await front.stop()
  })

  it('keeps its URL, its keys and its money to the unit, and ends what it began', async () => {
    // What there is before: payments in both directions, some of them under way, and open incoming payments.
    const atOld = { system: old, client: old.shop }
    const alice = walletOf(old, 'alice')
    const bob = walletOf(old, 'bob')
    const carlos = await openWallet(next, 'carlos', DOLLARS)
    const toBob = await Correspondence.open(old, old.shop, { from: moving, to: bob })
    const toCarlos = await Correspondence.open(old, old.shop, {
      from: moving,
      to: carlos,
      payee: { system: next, client: old.shop }
    })
    const fromAlice = await Correspondence.open(old, old.shop, { from: alice, to: moving })
    const open = await fromAlice.createReceiver()
    await whenEnded(fromAlice, expectStatus(201, await fromAlice.pay(open, amountOf(alice, 300n))))
    const atBob = await toBob.createReceiver()
    const atCarlos = await toCarlos.createReceiver()
    const underWay = await Promise.all([
      ...Array.from({ length: 8 }, () => toBob.pay(atBob, amountOf(moving, 100n))),
      ...Array.from({ length: 4 }, () => toCarlos.pay(atCarlos, amountOf(moving, 250n)))
    ])
    for (const answer of underWay) expectStatus(201, answer)

    // 1. The new installation gets the account, the wallet address and its keys.
    await operate(next, ['account', 'create', HOLDER, '--asset', 'USD'])
    await operate(next, ['wallet-address', 'create', `/${HOLDER}`, '--account', HOLDER])
    const { body: keys } = await send('GET', `${moving.walletAddress}/jwks.json`)
    for (const { kid, x } of (keys as { keys: { kid: string; x: string }[] }).keys) {
      await operate(next, ['client-key', 'add', moving.walletAddress, '--kid', kid, '--public-key', x])
    }
    // 2. Nothing new is paid from it, and what is under way ends.
    const about = ['--wallet-address', moving.walletAddress]
    const grants = await operate<ListedGrant[]>(old, ['grant', 'list', ...about, '--state', 'issued'])
    const paying = grants.filter(({ access }) => access.some(({ type }) => type === 'outgoing-payment'))
    expect(paying.length).toBe(2)
    for (const { id } of paying) await operate(old, ['grant', 'revoke', id])
    await eventually('nothing is under way', async () => (await readAccount(old)).held.value === '0')
    // 3. Nothing is new to it either.
    await operate(old, ['freeze', 'account', HOLDER, '--reason', 'moves'])
    const { balance, held } = await readAccount(old)
    expect(held.value).toBe('0')
    // 4. Its money goes over.
    const units = inUnits(balance.value)
    const movement = ['--id', randomUUID()]
    await operate(old, ['withdraw', HOLDER, units, ...movement])
    await operate(next, ['deposit', HOLDER, units, ...movement])
    // 5. Its URL leads to the new installation.
    front.route(`/${HOLDER}`, ownOriginOf(next))

    expect(balance.value).toBe(String(DEPOSIT + 300n - 8n * 100n - 4n * 250n))
    expect([await readAccount(old), await readAccount(next)]).toMatchObject([
      { balance: { value: '0' } },
      { balance: { value: balance.value } }
    ])
    for (const [index, paid] of underWay.entries()) {
      const by = index < 8 ? toBob : toCarlos
      expect(await stateOf(paid)).toBe('completed')
      // Its token ended with its grant.
      const read = await by.read('outgoing', paid.textAt('id'))
      expect([read.status, read.at('error.description')]).toEqual([403, 'Inactive Token'])
    }
    expect((await send('GET', moving.walletAddress)).body).toEqual({
      id: moving.walletAddress,
      assetCode: 'USD',
      assetScale: 2,
      authServer: next.authServerUrl,
      resourceServer: next.resourceServerUrl
    })
    expect((await send('GET', `${moving.walletAddress}/jwks.json`)).body).toEqual(keys)

    // What clients of the old installation see.
    expect((await fromAlice.read('incoming', open)).status).toBe(200)
    const refused = await fromAlice.requestReceiver()
    expect([refused.status, refused.at('error.description')]).toEqual([
      403,
      'the wallet address cannot be used now'
    ])
    expect((await fromAlice.pay(open, amountOf(alice, 1n))).status).toBe(400)
    await eventually('the old auth server knows that it moved', async () => {
      const answer = await old.shop.request('POST', old.authServerUrl, {
        body: {
          client: old.shop.walletAddress,
          access_token: {
            access: [{ type: 'outgoing-payment', actions: ['read'], identifier: moving.walletAddress }]
          },
          interact: { start: ['redirect'] }
        }
      })
      return answer.status === 400 && answer.text.includes('another authorization server')
    })
    expect((await fromAlice.complete(open)).status).toBe(200)

    // What they see once they have read the wallet address again.
    const moved = await Correspondence.open(next, old.shop, { from: moving, to: bob, payee: atOld })
    const after = expectStatus(201, await moved.pay(await moved.createReceiver(), amountOf(moving, 500n)))
    expect((await whenEnded(moved, after)).at('failed')).toBe(false)
    const back = await Correspondence.open(old, old.shop, {
      from: alice,
      to: moving,
      payee: { system: next, client: old.shop }
    })
    const received = await back.createReceiver()
    await whenEnded(back, expectStatus(201, await back.pay(received, amountOf(alice, 700n))))
    expect(valueAt(await back.read('incoming', received), 'receivedAmount')).toBe(700n)
    // Its holder's own requests are verified with the same key, anywhere.
    for (const system of [old, next]) {
      expect(await requestToken(system, holder, [{ type: 'quote', actions: ['create'] }])).toMatch(/\S/)
    }
    expect((await readAccount(next)).balance.value).toBe(String(BigInt(balance.value) - 500n + 700n))

    await Promise.all([old, next].map((system) => converged(system)))
    expect(await moneyOfBoth()).toBe(moneyBefore)
    expect(await owedAt(old)).toEqual({ peer_receivable: '500', peer_payable: '1700' })
    expect(await owedAt(next)).toEqual({ peer_receivable: '1700', peer_payable: '500' })
    expect(await Promise.all([old, next].map((system) => system.audit()))).toEqual([[], []])
  })

  async function start(options: Parameters<typeof startProcessSystem>[0]): Promise<ProcessSystem> {
    const system = await startProcessSystem({ ...QUICK, ...options })
    started.push(system)
    return system
  }

  function walletOf(system: ProcessSystem, name: 'alice' | 'bob'): Wallet {
    return { name, walletAddress: system.walletAddresses[name], asset: DOLLARS }
  }

  async function operate<Output = unknown>(system: ProcessSystem, words: readonly string[]): Promise<Output> {
    const { status, stdout, stderr } = await runOperatorCli(system, words)
    if (status !== 0) throw new Error(`${words.join(' ')}: ${stderr}`)
    return JSON.parse(stdout) as Output
  }

  function readAccount(system: ProcessSystem): Promise<Record<'balance' | 'held', { value: string }>> {
    return operate(system, ['account', 'show', HOLDER])
  }

  /** What all account holders of both have, in cents. */
  async function moneyOfBoth(): Promise<bigint> {
    const sums = await Promise.all(
      [old, next].map(({ resourceDatabase }) => resourceDatabase.query<{ sum: string }>(MONEY))
    )
    return sums.flat().reduce((total, { sum }) => total + BigInt(sum), 0n)
  }

  /** What the other one owes, and what it is owed. */
  async function owedAt({ resourceDatabase }: ProcessSystem): Promise<Record<string, string>> {
    const rows = await resourceDatabase.query<{ kind: string; value: string }>(
      `select kind::text, abs(debits_posted - credits_posted)::text as value from account
        where kind in ('peer_receivable', 'peer_payable')`
    )
    return Object.fromEntries(rows.map(({ kind, value }) => [kind, value]))
  }

  async function stateOf(paid: Answer): Promise<string | undefined> {
    const id = paid.textAt('id')
    const [row] = await old.resourceDatabase.query<{ state: string }>(
      'select state::text from outgoing_payment where id = $1',
      [id.slice(id.lastIndexOf('/') + 1)]
    )
    return row?.state
  }
})

/** A grant as `grant list` shows it. */
interface ListedGrant {
  readonly id: string
  readonly access: readonly { readonly type: string }[]
}

/** The money of account holders in dollars. */
const MONEY = `
  select coalesce(sum(credits_posted - debits_posted), 0)::text as sum from account where kind = 'wallet' and asset_code = 'USD'`

function ownOriginOf({ resourceServers }: ProcessSystem): string {
  return `http://localhost:${String(resourceServers[0]?.httpPort)}`
}

function inUnits(value: string): string {
  return `${value.slice(0, -2)}.${value.slice(-2)}`
}

function expectStatus(status: number, answer: Answer): Answer {
  if (answer.status !== status) throw new Error(`${String(answer.status)} ${answer.text}`)
  return answer
}
