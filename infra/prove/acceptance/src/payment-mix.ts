import { randomBytes, randomUUID } from 'node:crypto'
import { callUnary } from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'
import pg from 'pg'
import { requestToken } from './consent.js'
import { amount, createReceiver, pay } from './payments.js'
import { OPENING_BALANCE, type System } from './system.js'

/** The grant that all payments of a mix are made under. */
export interface MixedGrant {
  readonly token: string
  /** Length of its intervals. The mix begins in the first. */
  readonly intervalSeconds: number
}

/** The answers to a mix during one interval. */
export interface IntervalAnswers {
  /** Payments that were created, and reservations that were made. */
  accepted: number
  /** Payments for which there was no room. */
  refused: number
}

/** What was actually spent in an interval, according to the payments themselves. */
export interface Spending {
  readonly debited: bigint
  readonly received: bigint
}

/** Tasks that run concurrently. */
const PAYERS = 5
/** Further tasks, whose payments exceed the sender's balance. The grant has room for one of these at a time. */
const OVERDRAWERS = 3
/** Maximum number of reservations that are ended without a payment: the audit must name each, and names at most a hundred. */
const DIRECT_MAX = 80
/** What is actually spent of a reservation that is settled directly. */
const DIRECTLY_SPENT: Spending = { debited: 7n, received: 5n }

/**
 * Concurrent payments under one grant, on all instances, that end in every possible way. Payments that do not spend everything
 * give room back, so that payments are both accepted and refused throughout.
 *
 * The answers are recorded by interval: what a grant must have spent follows from them alone.
 */
export class PaymentMix {
  /** By interval. */
  readonly answers: IntervalAnswers[] = [{ accepted: 0, refused: 0 }]
  /** Ids (UUID) of reservations that were settled or released without a payment. */
  readonly directIds: string[] = []
  /** Ids (UUID) of reservations that were left alone. */
  readonly orphanIds: string[] = []
  readonly #system: System
  readonly #grant: MixedGrant
  readonly #openReceiver: string
  /** Ids (UUID) of payments, by interval. */
  readonly #paymentIds: string[][] = [[]]
  /** By interval. */
  readonly #directlySpent: Spending[][] = [[]]
  /** Locks rows, as other writers do. */
  readonly #lockingPool: pg.Pool

  private constructor(system: System, grant: MixedGrant, openReceiver: string) {
    this.#system = system
    this.#grant = grant
    this.#openReceiver = openReceiver
    this.#lockingPool = new pg.Pool({ connectionString: system.resourceDatabase.url, max: PAYERS + 1 })
  }

  /** What the grant must allow in each interval: room for one payment above the balance at a time, and for others beside it. */
  static readonly LIMIT = 2n * OPENING_BALANCE

  static async prepare(system: System, grant: MixedGrant): Promise<PaymentMix> {
    return new PaymentMix(system, grant, (await createReceiver(system, system.shop)).url)
  }

  /** Makes payments for a while, then begins the next interval while some are in progress. */
  async fillInterval(seconds: number): Promise<void> {
    await this.#payFor(seconds)
    await this.#payAcrossTheEnd()
  }

  /** Makes payments for a while. */
  async fillLastInterval(seconds: number): Promise<void> {
    await this.#payFor(seconds)
  }

  /** What was spent in each interval. All payments must have ended. */
  async spending(): Promise<Spending[]> {
    return Promise.all(
      this.#paymentIds.map(async (ids, interval) => {
        const [row] = await this.#system.resourceDatabase.query<{ sent: string; delivered: string }>(
          `select coalesce(sum(settled_debit_value), 0) as sent, coalesce(sum(settled_receive_value), 0) as delivered
             from outgoing_payment where id = any($1::uuid[])`,
          [ids]
        )
        const direct = this.#directlySpent[interval] ?? []
        return {
          debited: direct.reduce((sum, { debited }) => sum + debited, BigInt(row?.sent ?? -1)),
          received: direct.reduce((sum, { received }) => sum + received, BigInt(row?.delivered ?? -1))
        }
      })
    )
  }

  async close(): Promise<void> {
    await this.#lockingPool.end()
  }

  async #payFor(seconds: number): Promise<void> {
    const end = Date.now() + seconds * 1_000
    const stories = this.#stories()
    const payers = Array.from({ length: PAYERS }, async (_, payer) => {
      for (let turn = payer; Date.now() < end; turn += 1) await stories[turn % stories.length]?.()
    })
    const overdrawers = Array.from({ length: OVERDRAWERS }, async (_, overdrawer) => {
      while (Date.now() < end) await this.#pay(this.#openReceiver, OPENING_BALANCE + BigInt(1 + overdrawer))
    })
    await Promise.all([...payers, ...overdrawers])
  }

  #stories(): (() => Promise<void>)[] {
    return [
      () => this.#pay(this.#openReceiver, 3n),
      () => this.#payWhatFitsInPart(),
      () => this.#payWhileItIsCompleted(),
      () => this.#payAndCompleteAtOnce(),
      () => this.#reserveAndSettle(),
      () => this.#pay(this.#openReceiver, 1n),
      () => this.#reserveAndRelease(),
      () => this.#reserveAndLeave()
    ]
  }

  /** Three payments to a receiver that had room for each when it was created, and has room for one and a part of another. */
  async #payWhatFitsInPart(): Promise<void> {
    const { url } = await createReceiver(this.#system, this.#system.shop, { incoming: 100n })
    await this.#whileLocked([url], () => this.#payTogether(url, [70n, 60n, 50n]))
  }

  /** The receiver is completed after the payment was created, and before it is processed. */
  async #payWhileItIsCompleted(): Promise<void> {
    const { url } = await createReceiver(this.#system, this.#system.shop, { incoming: 1_000n })
    await this.#whileLocked([url], async (locking) => {
      await locking.query('update incoming_payment set completed = true where id = $1', [idOf(url)])
      await this.#pay(url, 20n)
    })
  }

  /** The receiver's client completes it at any moment. */
  async #payAndCompleteAtOnce(): Promise<void> {
    const { shop } = this.#system
    const { url, token } = await createReceiver(this.#system, shop)
    await Promise.all([
      this.#payTogether(url, [4n, 6n]),
      shop.request('POST', `${url}/complete`, { accessToken: token })
    ])
  }

  async #reserveAndSettle(): Promise<void> {
    if (this.directIds.length >= DIRECT_MAX) return
    const paymentId = await this.#reserve(OPENING_BALANCE / 2n)
    if (paymentId === undefined) return
    this.directIds.push(paymentId)
    this.#directlySpent.at(-1)?.push(DIRECTLY_SPENT)
    const { debited, received } = DIRECTLY_SPENT
    const value = { settledDebitValue: String(debited), settledReceiveValue: String(received) }
    await this.#end({ paymentId, end: { $case: 'settlement', value } })
  }

  async #reserveAndRelease(): Promise<void> {
    if (this.directIds.length >= DIRECT_MAX) return
    const paymentId = await this.#reserve(OPENING_BALANCE / 4n)
    if (paymentId === undefined) return
    this.directIds.push(paymentId)
    await this.#end({ paymentId, end: { $case: 'release', value: {} } })
  }

  async #end(end: auth.ReservationEnd): Promise<void> {
    const { results } = await callUnary(this.#system.limits, 'end', { ends: [end] }, { idempotent: true })
    const result = results[0]?.result
    if (result?.$case !== 'ended') throw new Error(`a reservation did not end: ${JSON.stringify(result)}`)
  }

  /** As if a process died before it persisted its payment: the sweeper releases the reservation. */
  async #reserveAndLeave(): Promise<void> {
    const paymentId = await this.#reserve(11n)
    if (paymentId !== undefined) this.orphanIds.push(paymentId)
  }

  /** Payments created before an interval ends and processed in the next: one succeeds, the receiver of the other expires. */
  async #payAcrossTheEnd(): Promise<void> {
    const { clock } = this.#system
    const lasting = await createReceiver(this.#system, this.#system.shop)
    const expiring = await this.#createExpiringReceiver(clock.now() + 1_000)
    await this.#whileLocked([lasting.url, expiring], async () => {
      await this.#pay(lasting.url, 9n)
      await this.#pay(expiring, 8n)
      clock.advanceSeconds(this.#grant.intervalSeconds)
      this.answers.push({ accepted: 0, refused: 0 })
      this.#paymentIds.push([])
      this.#directlySpent.push([])
    })
  }

  async #createExpiringReceiver(expiresAtMs: number): Promise<string> {
    const { shop, walletAddresses, resourceServerUrl } = this.#system
    const accessToken = await requestToken(this.#system, shop, [
      { type: 'incoming-payment', actions: ['create'] }
    ])
    const body = { walletAddress: walletAddresses.bob, expiresAt: new Date(expiresAtMs).toISOString() }
    const answer = await shop.request('POST', `${resourceServerUrl}/incoming-payments`, { accessToken, body })
    return answer.textAt('id')
  }

  /** Locks the rows of receivers: payments can be created, but not processed. */
  async #whileLocked(
    urls: readonly string[],
    work: (locking: pg.PoolClient) => Promise<void>
  ): Promise<void> {
    const locking = await this.#lockingPool.connect()
    try {
      await locking.query('begin')
      const lock = 'select 1 from incoming_payment where id = any($1::uuid[]) order by id for no key update'
      await locking.query(lock, [urls.map(idOf)])
      await work(locking)
      await locking.query('commit')
      locking.release()
    } catch (error) {
      locking.release(true)
      throw error
    }
  }

  async #payTogether(receiver: string, debits: readonly bigint[]): Promise<void> {
    await Promise.all(debits.map((debit) => this.#pay(receiver, debit)))
  }

  async #pay(receiver: string, debit: bigint): Promise<void> {
    const { shop } = this.#system
    const answer = await pay(this.#system, shop, this.#grant.token, receiver, debit)
    const description = answer.at('error.description')
    if (answer.status === 201) this.#paymentIds.at(-1)?.push(idOf(answer.textAt('id')))
    const isUnpayable = answer.status === 400 && description === 'invalid receiver'
    const isRefused = answer.status === 403 && description === 'unauthorized'
    if (answer.status !== 201 && !isUnpayable && !isRefused) {
      throw new Error(`a payment was answered with ${String(answer.status)} ${answer.text}`)
    }
    if (!isUnpayable) this.#count(!isRefused)
  }

  /** @returns the id (UUID) of the payment, which is never created; undefined when there is no room for it */
  async #reserve(value: bigint): Promise<string | undefined> {
    const paymentId = randomUUID()
    const reserved = auth.Amount.fromPartial(amount(value))
    const reservation = {
      paymentId,
      accessToken: this.#grant.token,
      walletAddress: this.#system.walletAddresses.alice,
      receiver: this.#openReceiver,
      requestHash: randomBytes(32),
      debitAmount: reserved,
      receiveAmount: reserved
    }
    const { limits } = this.#system
    const answer = await callUnary(limits, 'reserve', { reservations: [reservation] }, { idempotent: true })
    const result = answer.results[0]?.result
    if (result?.$case === 'failure') throw new Error(`a reservation failed: ${result.value.message}`)
    if (result?.$case === 'refused') {
      const { reason } = result.value
      if (reason !== auth.RefusalReason.REFUSAL_REASON_LIMIT_EXCEEDED) {
        throw new Error(`a reservation was refused with ${auth.RefusalReason[reason]}`)
      }
    }
    const isAccepted = result?.$case === 'reserved'
    this.#count(isAccepted)
    return isAccepted ? paymentId : undefined
  }

  #count(isAccepted: boolean): void {
    const answers = this.answers.at(-1)
    if (answers === undefined) throw new Error('there is always an interval')
    answers[isAccepted ? 'accepted' : 'refused'] += 1
  }
}

function idOf(url: string): string {
  return url.slice(url.lastIndexOf('/') + 1)
}
