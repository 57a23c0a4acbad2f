import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { callUnary, createClient, RpcError } from '@open-payments-server/grpc-transport'
import { exportEd25519Jwk } from '@open-payments-server/http-signatures/sign'
import { events, wallet } from '@open-payments-server/proto'
import { type Answer, createTestKey } from '@open-payments-server/testing'
import { assertAsDescribed } from './described-events.js'
import { byNumber, type FoundMoney, LOOK, shownAs } from './money-look.js'
import { APPROVAL_TIMEOUT_SECONDS } from './money-model.js'
import {
  type Freezable,
  type ModelRule,
  type Operation,
  type Owner,
  OWNERS,
  type PeerOperation
} from './money-operations.js'
import { MoneyPeer } from './money-peer.js'
import { FIXED_FEE, type Shown } from './money-state.js'
import { type OtherProvider, startOtherProvider } from './other-provider.js'
import { createPeers, PEER_SETTINGS, type TestPeers } from './paying-peer.js'
import { CAROL, eur, type PaymentWorld, PUBLIC_URL, startPaymentWorld, usd } from './payment-world.js'
import { startWorkersOnDemand, type WorkersOnDemand } from './workers-on-demand.js'

const DAY_MS = 86_400_000
/** Maximum time in which everything must be as the model says, in milliseconds. */
export const PATIENCE_MS = 30_000
/** What everyone has in the beginning. */
export const BALANCE = 1_000n

/** Where the clock begins: what expires is told by the earlier of the server's and the database's clock. */
const BEGINS_BEFORE_MS = 1_000 * DAY_MS

/** A server for sequences of operations, one after the other, each with accounts and a client of its own. */
export interface MoneyLane {
  readonly world: PaymentWorld
  readonly workers: WorkersOnDemand
  readonly holdsFrozen: boolean
  readonly told: events.EventServiceClient
  readonly peers: TestPeers
  readonly provider: OtherProvider
  /** Those of its sequences. */
  readonly peerings: MoneyPeer[]
  /** Wakes what sends payments elsewhere, by a freeze of what nobody uses. */
  ring(): Promise<void>
  /** How far events were read. */
  cursor: string
  /** Number of sequences so far. */
  sequences: number
  stop(): Promise<void>
}

/** Starts one. */
export async function startMoneyLane({ holdsFrozen }: { holdsFrozen: boolean }): Promise<MoneyLane> {
  const key = createTestKey('provider')
  const jwk = { ...key.privateKey.export({ format: 'jwk' }), kid: key.keyId }
  const world = await startPaymentWorld({
    startMs: Date.now() - BEGINS_BEFORE_MS,
    settings: {
      ...{ ...PEER_SETTINGS, PROVIDER_KEYS: JSON.stringify({ keys: [jwk] }) },
      EXCHANGE_RATES: 'USD/EUR=0.9,EUR/USD=1.1',
      FEES: `USD=${String(FIXED_FEE)}+1000`,
      APPROVAL_TIMEOUT_SECONDS: String(APPROVAL_TIMEOUT_SECONDS),
      FREEZE_PENDING_PAYMENTS: holdsFrozen ? 'hold' : 'finish',
      // The clock jumps while requests are under way.
      SIGNATURE_AGE_MAX_SECONDS: '3600'
    }
  })
  world.limits.chargeTime = () => new Date(world.clock.now())
  const workers = startWorkersOnDemand(world, { holdsFrozen })
  const told = createClient(events.EventServiceClient, {
    target: `127.0.0.1:${String(world.server.grpcPort)}`,
    deadlineMs: 10_000,
    retriesMax: 0,
    messageBytesMax: 10_485_760
  })
  const peers = createPeers(world)
  const provider = await startOtherProvider(exportEd25519Jwk(key.privateKey, key.keyId), world.clock)
  const peerings: MoneyPeer[] = []
  let isFrozen = false
  return {
    ...{ world, workers, holdsFrozen, told, peers, provider, peerings, cursor: '', sequences: 0 },
    async ring() {
      isFrozen = !isFrozen
      const order = { walletAddress: CAROL, reason: '' }
      await world.operate(isFrozen ? 'freezeWalletAddress' : 'unfreezeWalletAddress', order)
    },
    async stop() {
      told.close()
      workers.stop()
      peers.close()
      await world.stop()
      await Promise.all([provider, ...peerings].map((one) => one.stop()))
    }
  }
}

/** The real money: does what the model does, and shows it in the same form. */
export class MoneyServer {
  readonly #lane: MoneyLane
  /** Part of the names of everything in this sequence. */
  readonly #name: string
  readonly #token: string
  readonly #client: string
  /** Ids (UUID) by what the model calls it, such as `payment 3`; and back. */
  readonly #ids = new Map<string, string>()
  readonly #names = new Map<string, string>()
  /** Requests of payments, by number. */
  readonly #requests = new Map<number, { key: string; body: object }>()
  /** How incoming payments are paid by others, by number. */
  readonly #methods = new Map<number, unknown>()
  readonly #peer: MoneyPeer

  private constructor(lane: MoneyLane, name: string, peer: MoneyPeer) {
    const { world } = lane
    this.#lane = lane
    this.#peer = peer
    this.#name = name
    this.#client = `https://${this.#name}.example/wallet`
    this.#token = world.auth.issueToken({
      client: this.#client,
      keys: [world.shop.key],
      access: [
        { type: 'incoming-payment', actions: ['create', 'read', 'complete'] },
        { type: 'outgoing-payment', actions: ['create', 'read'] }
      ]
    }).accessToken
  }

  /** Begins a sequence: everyone has {@link BALANCE}. */
  static async begin(lane: MoneyLane): Promise<MoneyServer> {
    // Lists begin with the newest: nothing of an earlier sequence may be as new as what is created now.
    lane.world.clock.advanceSeconds(2)
    lane.sequences += 1
    const name = `s${String(lane.sequences)}`
    const peer = await MoneyPeer.begin(lane.peers, lane.provider, name)
    lane.peerings.push(peer)
    const server = new MoneyServer(lane, name, peer)
    await Promise.all(OWNERS.map((owner) => server.#open(owner)))
    server.#know('peer', (await lane.peers.operate('getPeer', { name: peer.name })).peer?.id ?? '')
    return server
  }

  /** In milliseconds since the Unix epoch. */
  get nowMs(): number {
    return this.#lane.world.clock.now()
  }

  get holdsFrozen(): boolean {
    return this.#lane.holdsFrozen
  }

  /** Does an operation; answers in the words of the model. */
  async do(operation: Operation): Promise<string> {
    const { world } = this.#lane
    switch (operation.kind) {
      case 'deposit':
      case 'withdraw': {
        const { kind, owner } = operation
        const movement = { accountName: this.#accountOf(owner), value: String(operation.value) }
        return this.#operated(
          kind === 'deposit'
            ? world.operate('deposit', { ...movement, depositId: randomUUID() })
            : world.operate('withdraw', { ...movement, withdrawalId: randomUUID() })
        )
      }
      case 'receive': {
        const { number, owner, incoming, expiresAtMs } = operation
        const body = {
          walletAddress: this.#addressOf(owner),
          expiresAt: new Date(expiresAtMs).toISOString(),
          ...(incoming === undefined ? {} : { incomingAmount: amountOf(owner, incoming) })
        }
        const answer = await this.#request('POST', '/incoming-payments', { body })
        if (answer.status === 201) this.#methods.set(number, answer.at('methods'))
        return this.#created(`incoming ${String(number)}`, answer)
      }
      case 'complete': {
        const answer = await this.#request('POST', `${this.#pathOf('incoming', operation.incoming)}/complete`)
        return answer.status === 200 ? 'done' : refusalOf(answer)
      }
      case 'pay': {
        const { number, owner, incoming, debit, refundOf } = operation
        const body = {
          walletAddress: this.#addressOf(owner),
          incomingPayment: this.#urlOf('incoming', incoming),
          debitAmount: amountOf(owner, debit),
          ...(refundOf === undefined ? {} : { refundOf: this.#urlOf('payment', refundOf) })
        }
        this.#requests.set(number, { key: randomUUID(), body })
        return this.#pay(number)
      }
      case 'pay elsewhere': {
        const { number, owner, debit } = operation
        const incomingPayment = this.#peer.receiverOf(number)
        const body = {
          ...{ walletAddress: this.#addressOf(owner), incomingPayment, debitAmount: amountOf(owner, debit) }
        }
        this.#requests.set(number, { key: randomUUID(), body })
        return this.#pay(number)
      }
      case 'repeat':
        return this.#pay(operation.payment)
      case 'approve':
      case 'decline': {
        const request = { outgoingPayment: this.#urlOf('payment', operation.payment), reason: '' }
        const method = operation.kind === 'approve' ? 'approvePayment' : 'declinePayment'
        return this.#operated(world.operate(method, request))
      }
      case 'refund':
        return this.#refund(operation)
      case 'freeze':
        return this.#freeze(operation.of, operation.freezes)
      case 'rule':
        return this.#operated(
          world.operate('createApprovalRule', this.#conditionsOf(operation.rule)).then(({ rule }) => {
            this.#know(`rule ${String(operation.number)}`, rule?.id ?? '')
          })
        )
      case 'unrule':
        return this.#operated(
          world.operate('deleteApprovalRule', { ruleId: this.#idOf('rule', operation.rule) })
        )
      case 'advance':
        world.clock.advanceSeconds(operation.seconds)
        await this.#lane.workers.sweep()
        return this.#goOn('done')
      default:
        return this.#dealWithPeer(operation)
    }
  }

  async #dealWithPeer(operation: PeerOperation): Promise<string> {
    const { peers } = this.#lane
    const { name } = this.#peer
    switch (operation.kind) {
      case 'packet': {
        const destination = peers.destinationOf(this.#methods.get(operation.incoming))
        return this.#peer.pay(operation.number, destination, operation.value)
      }
      case 'packet again':
        return this.#peer.payAgain(operation.packet)
      case 'manner':
        this.#peer.behave(operation.manner)
        return 'done'
      case 'decide packet':
        return this.#goOn(await this.#decidePacket(operation.payment, operation.arrived))
      case 'bound': {
        const value = operation.maximum === undefined ? '' : String(operation.maximum)
        const bound =
          operation.who === 'they' ? { receivableLimitValue: value } : { payableLimitValue: value }
        const answer = await this.#operated(
          peers.operate('updatePeer', { name, routes: undefined, ...bound })
        )
        return this.#goOn(answer)
      }
      case 'settle': {
        const { SETTLEMENT_DIRECTION_RECEIVED, SETTLEMENT_DIRECTION_SENT } = wallet.SettlementDirection
        const direction = operation.who === 'they' ? SETTLEMENT_DIRECTION_RECEIVED : SETTLEMENT_DIRECTION_SENT
        const key = randomUUID()
        const settlement = { name, direction, value: String(operation.value), reference: key, key }
        const answer = await this.#operated(peers.operate('settlePeer', settlement))
        return this.#goOn(answer)
      }
    }
  }

  /** As an operator who reads the peer's books. */
  async #decidePacket(payment: number, arrived: boolean): Promise<string> {
    const { peers } = this.#lane
    const { name } = this.#peer
    const { packets } = await peers.operate('listUnknownPackets', { name, pageSize: 0, pageToken: '' })
    const packet = packets.find((one) => one.payment === this.#urlOf('payment', payment))
    if (packet === undefined) return 'nothing to decide'
    const { condition } = packet
    const decision = { name, condition, arrived, arrivedValue: '' }
    const answer = await this.#operated(peers.operate('decidePacket', decision))
    return answer.includes('is to be decided') ? 'nothing to decide' : answer
  }

  /** Has the server look at once for what it sends elsewhere, as it does from time to time. */
  async #goOn(answer: string): Promise<string> {
    await this.#lane.ring()
    return answer
  }

  /** Does what the workers find to do. */
  async sweep(): Promise<void> {
    if (await this.#lane.workers.sweep()) await this.#lane.ring()
  }

  /** What the database has of this sequence, in one snapshot. */
  async look(): Promise<Shown> {
    const parameters = [[...this.#names.keys()], new Date(this.nowMs)]
    const [row] = await this.#lane.world.database.query<{ found: FoundMoney }>(LOOK, parameters)
    if (row === undefined) throw new Error('a statement that always answers a row answered none')
    return shownAs(row.found, {
      ownerOf: (accountName) => accountName.slice(this.#name.length + 1),
      numberOf: (id) => this.#numberOf(id),
      subjectOf: (type, id) => this.#subjectOf(type, id),
      receivedElsewhere: (payment) => this.#peer.receivedOf(payment)
    })
  }

  /** What operators see of it; the rest as in {@link look}. */
  async see(): Promise<Shown> {
    const [accounts, incoming, payments, refunds, { peer }, looked] = await Promise.all([
      Promise.all(OWNERS.map((owner) => this.#seeAccount(owner))),
      this.#seePayments(wallet.PaymentKind.PAYMENT_KIND_INCOMING),
      this.#seePayments(wallet.PaymentKind.PAYMENT_KIND_OUTGOING),
      this.#seeRefunds(),
      this.#lane.peers.operate('getPeer', { name: this.#peer.name }),
      this.look()
    ])
    return {
      ...looked,
      accounts: Object.fromEntries(accounts) as Shown['accounts'],
      incoming: byNumber(incoming, ({ paymentId, state, movedValue, refundedValue }) => [
        this.#numberOf(paymentId),
        [state, BigInt(movedValue), BigInt(refundedValue)]
      ]),
      payments: byNumber(payments, ({ paymentId, state, failureReason, movedValue, refundedValue }) => [
        this.#numberOf(paymentId),
        [state, failureReason, BigInt(movedValue), BigInt(refundedValue)]
      ]),
      refunds: byNumber(refunds, ({ refundId, state, settledValue, returnedValue, returnedFeeValue }) => [
        this.#numberOf(refundId),
        [state, BigInt(settledValue), BigInt(returnedValue), BigInt(returnedFeeValue)]
      ]),
      peer: [
        ...([BigInt(peer?.receivableValue ?? 0), BigInt(peer?.payableValue ?? 0)] as const),
        ...([peer?.receivableLimitValue ?? '', peer?.payableLimitValue ?? ''] as const)
      ]
    }
  }

  /**
   * What clients see of the payments in the end, in the form of {@link see}, and what went wrong otherwise: violations of the audit,
   * reservations that did not end once, and events that were told otherwise than they were appended.
   */
  async seeAtTheEnd({ events: appended }: Shown): Promise<{
    readonly payments: Shown['payments']
    readonly received: Readonly<Record<number, readonly [bigint, bigint]>>
    readonly spent: readonly [bigint, bigint]
    readonly wrong: readonly string[]
  }> {
    const { world } = this.#lane
    const undelivered = await this.#whenDelivered()
    const { debited, received } = world.limits.spent(this.#token)
    const audit = await world.audit()
    const told = await this.#readTold()
    const [payments, incoming] = await Promise.all([
      Promise.all(this.#known('payment').map((name) => this.#readPayment(name))),
      Promise.all(this.#known('incoming').map((name) => this.#readIncoming(name)))
    ])
    return {
      payments: Object.fromEntries(payments),
      received: Object.fromEntries(incoming),
      spent: [debited, received],
      wrong: [
        ...undelivered,
        ...audit,
        ...this.#reservationsWrong(),
        ...Object.entries(appended).flatMap(([subject, types]) =>
          told.get(subject)?.join() === types.join()
            ? []
            : [`${subject}: ${String(told.get(subject))} was told instead of ${String(types)}`]
        )
      ]
    }
  }

  async #open(owner: Owner): Promise<void> {
    const { operate, database } = this.#lane.world
    const accountName = this.#accountOf(owner)
    await operate('createAccount', { name: accountName, asset: assetOf(owner) })
    const path = `/${this.#name}/${owner}`
    await operate('createWalletAddress', { path, publicName: owner, accountName })
    await operate('deposit', { depositId: randomUUID(), accountName, value: String(BALANCE) })
    const [row] = await database.query<{ account: string; address: string }>(
      `select account_id as account, id as address from wallet_address where path = $1`,
      [path]
    )
    this.#know(`account ${owner}`, row?.account ?? '')
    this.#know(`wallet address ${owner}`, row?.address ?? '')
  }

  #request(method: string, path: string, options = {}): Promise<Answer> {
    return this.#lane.world.request(method, path, { accessToken: this.#token, ...options })
  }

  async #pay(number: number): Promise<string> {
    const { key, body } = this.#requests.get(number) ?? {}
    const answer = await this.#request('POST', '/outgoing-payments', {
      body,
      headers: { 'idempotency-key': key },
      signature: { nonce: randomUUID() }
    })
    return this.#created(`payment ${String(number)}`, answer)
  }

  #created(name: string, answer: Answer): string {
    if (answer.status !== 201) return refusalOf(answer)
    this.#know(name, idIn(answer.textAt('id')))
    return `created ${name.replace(/^\D+/, '')}`
  }

  #refund({ number, payment, value, returnsFee }: Extract<Operation, { kind: 'refund' }>): Promise<string> {
    const request = {
      ...{ refundOf: this.#urlOf('payment', payment), value: String(value), returnsFee },
      idempotencyKey: `${this.#name}-${String(number)}`
    }
    return this.#operated(
      this.#lane.world.operate('createRefund', request).then(({ refund }) => {
        this.#know(`refund ${String(number)}`, refund?.refundId ?? '')
        return `created ${String(number)}`
      })
    )
  }

  async #freeze(of: Freezable, freezes: boolean): Promise<string> {
    const { world, holdsFrozen } = this.#lane
    if (of !== 'client') {
      const prefix = freezes ? 'freeze' : 'unfreeze'
      return this.#operated(
        of.what === 'account'
          ? world.operate(`${prefix}Account`, { accountName: this.#accountOf(of.owner), reason: '' })
          : world.operate(`${prefix}WalletAddress`, { walletAddress: this.#addressOf(of.owner), reason: '' })
      )
    }
    await world.auth.changeFreeze(this.#client, freezes)
    const { introspections } = world.auth
    while (world.auth.introspections === introspections) await this.#request('GET', '/outgoing-payments/none')
    while (holdsFrozen && (await this.#isClientKnown()) !== freezes) await delay(2)
    return 'done'
  }

  async #isClientKnown(): Promise<boolean> {
    const rows = await this.#lane.world.database.query('select from frozen_client where client = $1', [
      this.#client
    ])
    return rows.length > 0
  }

  #conditionsOf(rule: ModelRule): wallet.CreateApprovalRuleRequest {
    const any = { aboveValue: '', walletAddress: '', client: '', firstPayee: false, method: '' }
    if (rule === 'all of the client') return { ...any, client: this.#client }
    const own = { ...any, walletAddress: this.#addressOf(rule.owner) }
    return 'above' in rule ? { ...own, aboveValue: String(rule.above) } : { ...own, firstPayee: true }
  }

  /** What an operator's call answers; why, if it refuses. */
  async #operated(call: Promise<unknown>): Promise<string> {
    try {
      const answer = await call
      return typeof answer === 'string' ? answer : 'done'
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      if (error.message.includes('has less than that available') && error.field === 'value')
        return error.message.startsWith('the account') ? 'no money' : error.message
      if (error.message.includes('because nobody decided in time')) return 'was timed_out'
      const decided = /the payment was (approved|declined)/.exec(error.message)?.[1]
      if (decided !== undefined) return `was ${decided}`
      return error.message.includes('met no rule') ? 'met no rule' : error.message
    }
  }

  async #seeAccount(owner: Owner): Promise<[Owner, Shown['accounts'][Owner]]> {
    const request = { name: this.#accountOf(owner), pageSize: 1, pageToken: '' }
    const { accounts } = await this.#lane.world.operate('listAccounts', request)
    const { balanceValue = '', heldValue = '', availableValue = '', freeze } = accounts[0] ?? {}
    return [owner, [BigInt(balanceValue), BigInt(heldValue), BigInt(availableValue), freeze !== undefined]]
  }

  /** The newest payments, which are those of this sequence, and more only if there are unknown ones. */
  async #seePayments(kind: wallet.PaymentKind): Promise<wallet.Payment[]> {
    const pageSize = this.#names.size + 1
    const { payments } = await this.#lane.world.operate(
      'listPayments',
      wallet.ListPaymentsRequest.fromPartial({
        ...{ kind, walletAddress: '', pageSize, pageToken: '' }
      })
    )
    return payments.filter(({ walletAddress }) => walletAddress.startsWith(`${PUBLIC_URL}/${this.#name}/`))
  }

  async #seeRefunds(): Promise<wallet.Refund[]> {
    const pageSize = this.#names.size + 1
    const { refunds } = await this.#lane.world.operate('listRefunds', {
      refundOf: '',
      pageSize,
      pageToken: ''
    })
    return refunds.filter(({ refundOf }) => this.#names.has(idIn(refundOf)))
  }

  /** A payment that refunds another has its id in common with its refund. */
  #subjectOf(type: string, id: string): string {
    const name = this.#names.get(id) ?? ''
    return type.startsWith('refund.') ? name.replace('payment', 'refund') : name
  }

  /** Delivers all outcomes and publishes all events. Returns what could not be delivered in time. */
  async #whenDelivered(): Promise<string[]> {
    const { world, workers } = this.#lane
    for (const untilMs = Date.now() + PATIENCE_MS; ;) {
      await workers.deliver()
      const left = await world.database.query<{ left: string }>(
        `select 'the outcome of ' || payment_id as left from grant_reservation where outcome is not null and delivered_at is null
         union all select 'an event: ' || type from event_outbox`
      )
      if (left.length === 0 || Date.now() > untilMs) return left.map((row) => `undelivered: ${row.left}`)
    }
  }

  async #readTold(): Promise<ReadonlyMap<string, string[]>> {
    const told = new Map<string, string[]>()
    for (;;) {
      const request = { afterCursor: this.#lane.cursor, types: [], pageSize: 1_000 }
      const page = await callUnary(this.#lane.told, 'listEvents', request, { idempotent: true })
      for (const event of page.events) {
        assertAsDescribed(event)
        const name = this.#toldSubject(event)
        if (event.type === 'account.created' || name === undefined) continue
        const types = told.get(name) ?? []
        told.set(name, [...types, event.type])
      }
      this.#lane.cursor = page.cursor
      if (page.events.length === 0) return told
    }
  }

  #toldSubject({ type, subject }: events.Event): string | undefined {
    const owner = OWNERS.find(
      (one) => subject === this.#addressOf(one) || subject.endsWith(this.#accountOf(one))
    )
    if (owner !== undefined) return `${type.startsWith('account.') ? 'account' : 'wallet address'} ${owner}`
    return this.#subjectOf(type, idIn(subject)) || undefined
  }

  #reservationsWrong(): string[] {
    const own = [...this.#lane.world.limits.reservations.values()].filter(
      ({ accessToken }) => accessToken === this.#token
    )
    const open = own.filter(({ state }) => state === 'open')
    return open.map(({ paymentId }) => `the reservation of ${paymentId} is open`)
  }

  async #readPayment(name: string): Promise<[number, Shown['payments'][number]]> {
    const { body } = await this.#request('GET', `/outgoing-payments/${this.#ids.get(name) ?? ''}`)
    const payment = body as {
      state?: string
      failed: boolean
      failureReason?: string
      sentAmount: { value: string }
      refundedAmount?: { value: string }
    }
    const sent = BigInt(payment.sentAmount.value)
    const state = payment.state ?? (payment.failed ? 'failed' : sent > 0n ? 'completed' : 'pending')
    const refunded = BigInt(payment.refundedAmount?.value ?? 0)
    return [numberIn(name), [state, payment.failureReason ?? '', sent, refunded]]
  }

  async #readIncoming(name: string): Promise<[number, [bigint, bigint]]> {
    const { body } = await this.#request('GET', `/incoming-payments/${this.#ids.get(name) ?? ''}`)
    const { receivedAmount, refundedAmount } = body as {
      receivedAmount: { value: string }
      refundedAmount?: { value: string }
    }
    return [numberIn(name), [BigInt(receivedAmount.value), BigInt(refundedAmount?.value ?? 0)]]
  }

  #know(name: string, id: string): void {
    const known = this.#ids.get(name)
    if (known !== undefined && known !== id) throw new Error(`${name} is ${known}, and was answered as ${id}`)
    this.#ids.set(name, id)
    this.#names.set(id, name)
  }

  #known(kind: string): string[] {
    return [...this.#ids.keys()].filter((name) => name.startsWith(kind))
  }

  #numberOf(id: string): number {
    return numberIn(this.#names.get(id) ?? '')
  }

  #idOf(kind: 'incoming' | 'payment' | 'rule', number: number): string {
    return this.#ids.get(`${kind} ${String(number)}`) ?? ''
  }

  #pathOf(kind: 'incoming' | 'payment', number: number): string {
    return `/${kind === 'incoming' ? 'incoming' : 'outgoing'}-payments/${this.#idOf(kind, number)}`
  }

  #urlOf(kind: 'incoming' | 'payment', number: number): string {
    return `${PUBLIC_URL}${this.#pathOf(kind, number)}`
  }

  #accountOf(owner: Owner): string {
    return `${this.#name}-${owner}`
  }

  #addressOf(owner: Owner): string {
    return `${PUBLIC_URL}/${this.#name}/${owner}`
  }
}

function assetOf(owner: Owner) {
  return { code: owner === 'carol' ? 'EUR' : 'USD', scale: 2 }
}

function amountOf(owner: Owner, value: bigint) {
  return owner === 'carol' ? eur(value) : usd(value)
}

/** The UUID at the end of a URL. */
function idIn(url: string): string {
  return url.slice(-36)
}

function numberIn(name: string): number {
  return Number(/\d+$/.exec(name)?.[0])
}

/** Why a request was refused, in the words of the model: without the numbers, which clients read in the details. */
function refusalOf({ status, body, text }: Answer): string {
  const description = (body as { error?: { description?: string } } | undefined)?.error?.description
  const isTold = (status < 500 || status === 503) && description !== undefined
  return isTold ? description : `${String(status)} ${text}`
}
