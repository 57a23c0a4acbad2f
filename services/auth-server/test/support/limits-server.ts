import { callUnary } from '@open-payments-server/grpc-transport'
import {
  type Answer,
  describe,
  eur,
  type GrpcFixture,
  RECEIVER,
  SHOP,
  spending,
  usd
} from './grpc-fixture.js'
import type { ModelAmount, ModelAnswer, ModelCall, ModelItem, ModelPayment } from './limits-model.js'
import { textOf } from './model-interval.js'

/** The receivers of the model's payments; limits name the first. */
export const RECEIVERS = [RECEIVER, `${RECEIVER}0`] as const

/** The server that a model is compared with: the model's numbers stand for ids and tokens here. */
export class LimitsServer {
  readonly #auth: GrpcFixture
  readonly #grants: { readonly token: string; readonly itemIds: readonly string[] }[] = []
  readonly #paymentIds: string[] = []

  private constructor(auth: GrpcFixture) {
    this.#auth = auth
  }

  /** Starts a server without grants and payments, at an instant in milliseconds since 1970. */
  static async begin(auth: GrpcFixture, nowMs: number): Promise<LimitsServer> {
    await auth.database.query('delete from reservation')
    await auth.database.query('delete from limit_window')
    await auth.database.query('delete from grant_request')
    await auth.database.query('delete from client_freeze')
    auth.clock.set(nowMs)
    return new LimitsServer(auth)
  }

  /** Moves its clock to an instant, in milliseconds since 1970. */
  setClock(nowMs: number): void {
    this.#auth.clock.set(nowMs)
  }

  /** Creates the next grant. */
  async addGrant(items: readonly ModelItem[]): Promise<void> {
    this.#grants.push(await this.#auth.grant({ access: items.map(accessItem) }))
  }

  /** Freezes the client of all grants, or ends its freeze. */
  async freeze(freezes: boolean): Promise<void> {
    const method = freezes ? 'freezeClient' : 'unfreezeClient'
    await callUnary(this.#auth.operator, method, { client: SHOP, reason: '' }, { idempotent: false })
  }

  /** Makes a call over the network. */
  call(call: ModelCall): Promise<ModelAnswer> {
    const paymentId = this.#paymentId(call.id)
    switch (call.method) {
      case 'reserve':
        return this.#reserve(paymentId, call.payment)
      case 'settle':
        return this.#auth.settle(paymentId, call.debited, call.received)
      case 'release':
        return this.#auth.release(paymentId)
    }
  }

  /** The counters with their assets, by `grant/item/interval`, as `[debited, received]`. */
  async windows(): Promise<Record<string, [string, string]>> {
    const names = new Map(
      this.#grants.flatMap(({ itemIds }, grant) =>
        itemIds.map((id, item) => [id, `${String(grant)}/${String(item)}`])
      )
    )
    const rows = await this.#auth.database.query<{
      access_item_id: string
      interval_index: string
      debited: string
      received: string
    }>(
      `select access_item_id, interval_index, spent_debit_value || ' ' || debit_code as debited,
              spent_receive_value || ' ' || receive_code as received from limit_window`
    )
    return Object.fromEntries(
      rows.map(({ access_item_id: itemId, interval_index: interval, debited, received }) => [
        `${names.get(itemId) ?? itemId}/${interval}`,
        [debited, received]
      ])
    )
  }

  /** The amounts a grant has spent so far, as `[debited, received]`. */
  async spent(grant: number): Promise<[string, string]> {
    const { spentDebitAmount, spentReceiveAmount } = await this.#auth.call('getSpentAmounts', {
      accessToken: String(this.#grants[grant]?.token)
    })
    return [describe(spentDebitAmount), describe(spentReceiveAmount)]
  }

  /** The violations of its own audit. */
  violations(): Promise<string[]> {
    return this.#auth.violations()
  }

  #reserve(paymentId: string, { grant, debit, receive, receiver }: ModelPayment): Promise<Answer> {
    return this.#auth.reserve(String(this.#grants[grant]?.token), {
      paymentId,
      debit: amount(debit),
      receive: amount(receive),
      receiver
    })
  }

  #paymentId(id: number): string {
    this.#paymentIds[id] ??= this.#auth.newId()
    return this.#paymentIds[id]
  }
}

function accessItem({ receiver, debitMax, receiveMax, interval }: ModelItem) {
  return spending({
    receiver,
    debitAmount: debitMax && amount(debitMax),
    receiveAmount: receiveMax && amount(receiveMax),
    interval: interval && textOf(interval)
  })
}

function amount({ value, asset }: ModelAmount) {
  return asset === 'USD' ? usd(value) : eur(value)
}
