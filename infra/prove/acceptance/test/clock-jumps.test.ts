import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { composeAuthServer, loadConfig as loadAuthServerConfig } from '@open-payments-server/auth-server'
import {
  composeResourceServer,
  loadConfig as loadResourceServerConfig
} from '@open-payments-server/resource-server'
import { createLogger } from '@open-payments-server/runtime'
import {
  type Answer,
  createSigningClient,
  send,
  type SignedRequestOptions,
  TestClock,
  type TestDatabase
} from '@open-payments-server/testing'
import pg from 'pg'
import { type ConnectedSystem, connectToSystem, type TestClient } from '../src/connect-system.js'
import {
  FINISH_URI,
  outgoingAccess,
  type PendingGrant,
  readPendingGrant,
  requestToken
} from '../src/consent.js'
import { digestOf } from '../src/database-digest.js'
import { allSettled, amount, eventually } from '../src/payments.js'
import { planSystem } from '../src/plan-system.js'
import { startSystem, type System } from '../src/system.js'
import { balanceOf, Correspondence, openWallet } from '../src/wallets.js'

/** How far clocks jump: longer than everything lives, and less than the time for which a payment that was created may be delayed. */
const JUMP_SECONDS = 14 * 60

/** A digest of both databases, once nothing is in progress. */
async function stateOf(system: System): Promise<string[]> {
  await allSettled(system)
  return Promise.all([digestOf(system.authDatabase), digestOf(system.resourceDatabase)])
}

/** A payment of 5.00 USD from alice to carol, from the request for its grant to its end, one step at a time. */
class Journey {
  readonly #system: System
  #grant: PendingGrant | undefined
  #interaction = ''
  #cookie = ''
  #reference: string | null = null
  #tokens = { outgoing: '', incoming: '', quote: '' }
  #receiver = ''
  #quote = ''
  #payment = ''

  constructor(system: System) {
    this.#system = system
  }

  async requestGrant(): Promise<Answer> {
    const answer = await this.#post(this.#system.authServerUrl, undefined, {
      client: this.#system.shop.walletAddress,
      access_token: { access: [outgoingAccess(this.#system, { debitAmount: amount(1_000) })] },
      interact: { start: ['redirect'], finish: { method: 'redirect', uri: FINISH_URI, nonce: 'nonce' } }
    })
    this.#grant = readPendingGrant(answer)
    return answer
  }

  async startInteraction(): Promise<Answer> {
    const answer = await send('GET', String(this.#grant?.redirect))
    const query = queryOf(answer)
    this.#interaction = `${String(query.get('interactId'))}/${String(query.get('nonce'))}`
    this.#cookie = (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    return answer
  }

  accept(): Promise<Answer> {
    return send('POST', `${this.#system.identityProviderUrl()}/grant/${this.#interaction}/accept`, {
      'x-idp-secret': this.#system.identityProviderSecret
    })
  }

  async finishInteraction(): Promise<Answer> {
    const url = `${this.#system.authServerUrl}interact/${this.#interaction}/finish`
    const answer = await send('GET', url, { cookie: this.#cookie })
    this.#reference = queryOf(answer).get('interact_ref')
    return answer
  }

  async continueGrant(): Promise<Answer> {
    this.#system.clock.advanceSeconds(this.#grant?.waitSeconds ?? 0)
    const answer = await this.#post(String(this.#grant?.continueUri), this.#grant?.continuationToken, {
      interact_ref: this.#reference
    })
    this.#tokens.outgoing = String(answer.at('access_token.value'))
    return answer
  }

  async requestReceiver(): Promise<Answer> {
    const { shop, walletAddresses, resourceServerUrl } = this.#system
    const access = {
      type: 'incoming-payment',
      actions: ['create', 'read'],
      identifier: walletAddresses.carol
    }
    this.#tokens.incoming = await requestToken(this.#system, shop, [access])
    const answer = await this.#post(`${resourceServerUrl}/incoming-payments`, this.#tokens.incoming, {
      walletAddress: walletAddresses.carol
    })
    this.#receiver = String(answer.at('id'))
    return answer
  }

  async quote(): Promise<Answer> {
    const { shop, walletAddresses, resourceServerUrl } = this.#system
    this.#tokens.quote = await requestToken(this.#system, shop, [{ type: 'quote', actions: ['create'] }])
    const answer = await this.#post(`${resourceServerUrl}/quotes`, this.#tokens.quote, {
      walletAddress: walletAddresses.alice,
      receiver: this.#receiver,
      method: 'ilp',
      debitAmount: amount(500)
    })
    this.#quote = String(answer.at('id'))
    return answer
  }

  async pay(): Promise<Answer> {
    const { walletAddresses, resourceServerUrl } = this.#system
    const answer = await this.#post(`${resourceServerUrl}/outgoing-payments`, this.#tokens.outgoing, {
      walletAddress: walletAddresses.alice,
      quoteId: this.#quote
    })
    this.#payment = String(answer.at('id'))
    return answer
  }

  async read(): Promise<Answer> {
    await allSettled(this.#system)
    return this.#system.shop.request('GET', this.#payment, { accessToken: this.#tokens.outgoing })
  }

  #post(url: string, accessToken: string | undefined, body: object): Promise<Answer> {
    return this.#system.shop.request('POST', url, { ...(accessToken && { accessToken }), body })
  }
}

const STEPS = [
  'requestGrant',
  'startInteraction',
  'accept',
  'finishInteraction',
  'continueGrant',
  'requestReceiver',
  'quote',
  'pay',
  'read'
] as const

type StepName = (typeof STEPS)[number]

/** The query of the address that a browser is sent to. */
function queryOf(answer: Answer): URLSearchParams {
  return new URL(answer.headers.get('location') ?? 'none:').searchParams
}

/** A short form of the refusal of a step; undefined when it was not refused. */
function refusalOf(answer: Answer): string | undefined {
  const result = queryOf(answer).get('result')
  if (result !== null) return result
  if (answer.status < 400) return undefined
  expect(answer.status).toBeLessThan(500)
  return `${String(answer.status)} ${answer.textAt('error.code')} ${answer.textAt('error.description')}`
}

/** Makes the payment with a clock that jumps after a step. Returns where it ended: a refused step changes nothing. */
async function travel(system: System, jumpAfter: StepName, jumpSeconds: number): Promise<string> {
  const journey = new Journey(system)
  for (const step of STEPS) {
    const before = await stateOf(system)
    const answer = await journey[step]()
    const refusal = refusalOf(answer)
    if (refusal !== undefined) {
      expect(await stateOf(system)).toEqual(before)
      return `${step}: ${refusal}`
    }
    if (step === 'read') return `sent ${answer.textAt('sentAmount.value')}`
    if (step === jumpAfter) system.clock.advanceSeconds(jumpSeconds)
  }
  throw new Error('a journey without an end')
}

const INTERACTION_OVER = 'startInteraction: grant_invalid'
const CHOICE_TOO_LATE = 'accept: 400 invalid_interaction invalid interaction'
const TOO_FAST = 'continueGrant: 400 too_fast the wait time has not passed yet'
const TOKEN_EXPIRED = '403 403 Inactive Token'
const QUOTE_EXPIRED = 'pay: 400 400 invalid quote'
const SENT = 'sent 500'

/** Where the payment ends, by the step after which the clock jumps. */
type Ends = Readonly<Record<StepName, string>>

const AHEAD: Ends = {
  requestGrant: INTERACTION_OVER,
  startInteraction: CHOICE_TOO_LATE,
  accept: 'finishInteraction: grant_invalid',
  finishInteraction: 'continueGrant: 401 request_denied the grant was not continued in time',
  continueGrant: `pay: ${TOKEN_EXPIRED}`,
  requestReceiver: `pay: ${TOKEN_EXPIRED}`,
  quote: `pay: ${TOKEN_EXPIRED}`,
  // Paid, though the client needs a new token to see it.
  pay: `read: ${TOKEN_EXPIRED}`,
  read: SENT
}

/** With interactions, approvals and tokens that live longer than the jump. */
const AHEAD_AND_ALIVE: Ends = {
  requestGrant: SENT,
  startInteraction: SENT,
  accept: SENT,
  finishInteraction: SENT,
  continueGrant: SENT,
  requestReceiver: SENT,
  quote: QUOTE_EXPIRED,
  pay: SENT,
  read: SENT
}

const BACK: Ends = {
  requestGrant: TOO_FAST,
  startInteraction: TOO_FAST,
  accept: TOO_FAST,
  finishInteraction: TOO_FAST,
  continueGrant: SENT,
  requestReceiver: SENT,
  quote: SENT,
  pay: SENT,
  read: SENT
}

const LONG_LIVED = {
  ACCESS_TOKEN_LIFETIME_SECONDS: '3600',
  INTERACTION_LIFETIME_SECONDS: '3600',
  INTERACTION_REFERENCE_LIFETIME_SECONDS: '3600'
}

describe.each([
  ['a clock that jumps', {}, AHEAD, BACK],
  [
    'a clock that jumps, with tokens, interactions and approvals that outlive it',
    LONG_LIVED,
    AHEAD_AND_ALIVE,
    BACK
  ]
])('%s', (_name, auth, ahead, back) => {
  let system: System
  let startMs: number
  beforeAll(async () => {
    system = await startSystem({ auth })
    startMs = system.clock.now()
  })
  afterEach(async () => {
    await allSettled(system)
    system.clock.set(startMs)
    expect(await system.audit()).toEqual([])
  })
  afterAll(() => system.stop())

  it.each(STEPS)('14 minutes ahead after %s', async (step) => {
    expect(await travel(system, step, JUMP_SECONDS)).toBe(ahead[step])
  })

  it.each(STEPS)('14 minutes back after %s', async (step) => {
    expect(await travel(system, step, -JUMP_SECONDS)).toBe(back[step])
  })
})

/** Locks a row, blocking other transactions, until the returned function is called. */
async function lockRow(
  database: TestDatabase,
  table: string,
  column: string,
  id: string
): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query('begin')
  await client.query(`select 1 from ${table} where ${column} = $1 for update`, [id])
  return () => client.end()
}

function idOf(url: string): string {
  return url.split('/').at(-1) ?? ''
}

describe('a payment that is delayed while the clock jumps', () => {
  let system: System
  let startMs: number
  let payer: Correspondence
  beforeAll(async () => {
    system = await startSystem({ auth: LONG_LIVED })
    startMs = system.clock.now()
    const asset = { code: 'USD', scale: 2 }
    payer = await Correspondence.open(system, system.shop, {
      from: await openWallet(system, 'sender', asset, 10_000n),
      to: await openWallet(system, 'receiver', asset)
    })
  })
  afterEach(async () => {
    await allSettled(system)
    system.clock.set(startMs)
    expect(await system.audit()).toEqual([])
  })
  afterAll(() => system.stop())

  it.each([
    ['back', -JUMP_SECONDS, false, '100'],
    ['ahead, beyond the expiry of its receiver', JUMP_SECONDS, true, '0']
  ])('%s, before it is processed, ends as it must by then', async (_direction, jumpSeconds, failed, sent) => {
    const expiresAt = new Date(system.clock.now() + 600_000).toISOString()
    const receiver = await payer.createReceiver({ expiresAt })
    const before = await balanceOf(system, 'sender')
    const unlock = await lockRow(system.resourceDatabase, 'incoming_payment', 'id', idOf(receiver))
    const created = await payer.pay(receiver, amount(100))
    system.clock.advanceSeconds(jumpSeconds)
    await unlock()
    await allSettled(system)
    const ended = await payer.read('outgoing', created.textAt('id'))
    expect([ended.at('failed'), ended.at('sentAmount.value')]).toEqual([failed, sent])
    expect(before - (await balanceOf(system, 'sender'))).toBe(BigInt(sent))
  })

  it.each([
    ['back', -JUMP_SECONDS],
    ['ahead', JUMP_SECONDS]
  ])(
    '%s, before the auth server is told of its end, is told all the same',
    async (_direction, jumpSeconds) => {
      const spent = async (): Promise<bigint> =>
        BigInt((await payer.readSpent()).textAt('spentDebitAmount.value'))
      await payer.pay(await payer.createReceiver(), amount(1))
      await allSettled(system)
      const before = await spent()
      const receiver = await payer.createReceiver()
      const unlockReceiver = await lockRow(system.resourceDatabase, 'incoming_payment', 'id', idOf(receiver))
      const created = await payer.pay(receiver, amount(100))
      const id = idOf(created.textAt('id'))
      const unlockReservation = await lockRow(system.authDatabase, 'reservation', 'payment_id', id)
      await unlockReceiver()
      await eventually('the payment has ended', async () => {
        const [row] = await system.resourceDatabase.query(
          'select state from outgoing_payment where id = $1',
          [id]
        )
        return row?.state === 'completed'
      })
      system.clock.advanceSeconds(jumpSeconds)
      await unlockReservation()
      await allSettled(system)
      expect((await spent()) - before).toBe(100n)
    }
  )

  it.each([
    ['back', -JUMP_SECONDS],
    ['ahead', JUMP_SECONDS]
  ])('%s, before it is asked for again, is not made again', async (_direction, jumpSeconds) => {
    const receiver = await payer.createReceiver()
    const createdSeconds = Math.floor(system.clock.now() / 1_000)
    const key = { 'idempotency-key': `jump-${String(jumpSeconds)}` }
    const metadata = { jumpSeconds }
    const pay = (options: SignedRequestOptions): Promise<Answer> =>
      payer.pay(receiver, amount(100), options, metadata)
    const first = await pay({ headers: key })
    expect(first.status).toBe(201)
    const before = await stateOf(system)
    system.clock.advanceSeconds(jumpSeconds)
    // The same signature is no longer fresh, or not yet. Signed anew, the same idempotency key gets the same payment.
    const replayed = await pay({ signature: { createdSeconds } })
    expect([replayed.status, replayed.textAt('error.description')]).toEqual([
      401,
      expect.stringMatching(/^Signature validation error/)
    ])
    expect((await pay({ headers: key })).text).toBe(first.text)
    expect(await stateOf(system)).toEqual(before)
    const balance = await balanceOf(system, 'sender')
    system.clock.set(createdSeconds * 1_000)
    expect((await pay({ signature: { createdSeconds } })).text).toBe(first.text)
    await allSettled(system)
    expect(await balanceOf(system, 'sender')).toBe(balance)
  })
})

describe.each([
  ['ahead of', JUMP_SECONDS],
  ['behind', -JUMP_SECONDS]
])('a resource server 15 minutes %s the auth server', (_direction, aheadSeconds) => {
  const authClock = new TestClock()
  const resourceClock = new TestClock(authClock.now() + aheadSeconds * 1_000)
  let system: ConnectedSystem
  let stop: () => Promise<void>

  beforeAll(async () => {
    const logger = createLogger({ service: 'acceptance', level: 'silent' })
    const plan = await planSystem()
    const authServer = await composeAuthServer(loadAuthServerConfig({ ...plan.authServers[0]?.settings }), {
      clock: authClock,
      logger
    })
    const resourceServer = await composeResourceServer(
      loadResourceServerConfig({ ...plan.resourceServers[0]?.settings }),
      { clock: resourceClock, logger }
    )
    const connected = await connectToSystem(plan, {
      clock: resourceClock,
      passSeconds(seconds) {
        for (const clock of [authClock, resourceClock]) clock.advanceSeconds(seconds)
        return Promise.resolve()
      }
    })
    const { keyId, privateKey } = connected.shop.key
    const byAuthClock = createSigningClient({ keyId, privateKey, clock: authClock })
    // Each service uses its own clock.
    const request: TestClient['request'] = (method, url, options) =>
      (url.startsWith(plan.authServerUrl) ? byAuthClock : connected.shop).request(method, url, options)
    system = { ...connected, shop: { ...connected.shop, request } }
    stop = async () => {
      connected.close()
      await resourceServer.stop()
      await authServer.stop()
      await Promise.all([plan.authDatabase.drop(), plan.resourceDatabase.drop()])
    }
  })
  afterAll(() => stop())

  it("pays within the limits of the auth server's current interval, and loses nothing", async () => {
    const asset = { code: 'USD', scale: 2 }
    const wallets = {
      from: await openWallet(system, 'sender', asset, 10_000n),
      to: await openWallet(system, 'receiver', asset)
    }
    const start = new Date(authClock.now() - 60_000).toISOString()
    const limits = { interval: `R2/${start}/PT10M`, debitAmount: amount(150) }
    const payer = await Correspondence.open(system, system.shop, wallets, limits)
    const receiver = await payer.createReceiver()
    const quote = await payer.quote(receiver, { debitAmount: amount(100) })
    const paid = await payer.payQuote(quote)
    expect([paid.status, paid.at('grantSpentDebitAmount')]).toEqual([201, amount(100)])
    expect((await payer.pay(receiver, amount(100))).status).toBe(403)
    await allSettled(system)
    expect((await payer.read('outgoing', paid.textAt('id'))).at('sentAmount')).toEqual(amount(100))
    expect((await payer.read('incoming', receiver)).at('receivedAmount')).toEqual(amount(100))
    expect(await balanceOf(system, 'sender')).toBe(9_900n)
    expect(await system.audit()).toEqual([])
  })

  it('refuses requests dated by the other clock', async () => {
    const token = await requestToken(system, system.shop, [{ type: 'quote', actions: ['create'] }])
    const answer = await system.shop.request('POST', `${system.resourceServerUrl}/quotes`, {
      accessToken: token,
      body: {},
      signature: { createdSeconds: Math.floor(authClock.now() / 1_000) }
    })
    expect(answer.status).toBe(401)
    expect(answer.textAt('error.description')).toMatch(/^Signature validation error/)
  })
})
