import { randomBytes } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type ArrivedPacket,
  createPaymentAddresses,
  createStreamReceiver,
  type CreditResult,
  decodePrepare,
  encodeAmountTooLarge,
  encodeReply,
  type PaymentCredits,
  type Prepare,
  type Reply
} from '@open-payments-server/interledger'
import type { Asset } from '@open-payments-server/value-types/amounts'
import type { Clock } from '@open-payments-server/value-types/clock'

/** A payment at another provider. */
export interface ElsewherePayment {
  /** Maximum that it takes; undefined: any amount. */
  readonly maxValue: bigint | undefined
  receivedValue: bigint
  isOver: boolean
}

/** What happens to a packet: it is answered as usual, or whatever is done with the response. */
export type PacketHandler = (
  prepare: Prepare,
  answer: () => Promise<Reply>,
  response: ServerResponse
) => Promise<Reply | undefined> | Reply | undefined

/** Whether a packet is a probe: those ask for more than anybody has. */
export function isProbe({ amount }: Prepare): boolean {
  return amount >= 1_000_000_000n
}

/** A peer that takes packets for payments of its own, on the loopback. */
export interface ReceivingPeer {
  /** Where packets are posted to it. */
  readonly endpoint: string
  readonly ilpAddress: string
  /** What callers must present. */
  readonly token: string
  /** Every packet that came, probes included. */
  readonly packets: Prepare[]
  /** Units of the receiver's asset for one unit of the packets', in thousandths. */
  rateThousandths: bigint
  /** Largest packet that it takes. */
  packetLimitValue: bigint | undefined
  /** Largest packet that is passed on to it, of those that ask what arrives: whoever wants rejects others. */
  probeLimitValue: bigint | undefined
  /** Whether it answers nothing but that it is away, probes included. */
  isDown: boolean
  /** Replaces what happens to packets that can be fulfilled. */
  handle: PacketHandler | undefined
  /** Replaces what a payment of its is credited with, and what is said of that. */
  credit: ((packet: ArrivedPacket) => CreditResult) | undefined
  /** How a payment of its is paid, as its provider tells it. */
  methodOf(paymentId: string, asset: Asset): { type: 'ilp'; ilpAddress: string; sharedSecret: string }
  /** The payment that a packet is for: undefined for none of its. */
  paymentIdOf(prepare: Prepare): string | undefined
  /** A payment of its: open unless something else was said of it. */
  payment(paymentId: string): ElsewherePayment
  /** Says what a payment takes at most. */
  limit(paymentId: string, maxValue: bigint): void
  stop(): Promise<void>
}

/** Starts a peer. */
export async function startReceivingPeer(clock: Clock, ilpAddress = 'test.other'): Promise<ReceivingPeer> {
  const addresses = createPaymentAddresses({ ilpAddress, secrets: [randomBytes(32)] })
  const payments = new Map<string, ElsewherePayment>()
  const credited = new Map<string, bigint>()
  const paymentOf = (id: string): ElsewherePayment => {
    const payment = payments.get(id) ?? { maxValue: undefined, receivedValue: 0n, isOver: false }
    payments.set(id, payment)
    return payment
  }
  const credits: PaymentCredits = {
    async credit(packet) {
      if (peer.credit !== undefined) return peer.credit(packet)
      const { condition, paymentId, value } = packet
      const known = credited.get(condition.toString('hex'))
      if (known !== undefined) return { outcome: 'credited', value: known }
      const payment = paymentOf(paymentId)
      if (payment.isOver) return { outcome: 'over' }
      const { maxValue, receivedValue } = payment
      if (maxValue !== undefined && receivedValue + value > maxValue) {
        return { outcome: 'no-room', receiveMaxValue: maxValue, receivedValue }
      }
      payment.receivedValue += value
      payment.isOver = payment.receivedValue === maxValue
      credited.set(condition.toString('hex'), value)
      return { outcome: 'credited', value }
    },
    async find({ condition, paymentId }) {
      const value = credited.get(condition.toString('hex'))
      if (value !== undefined) return { outcome: 'credited', value }
      return { outcome: paymentOf(paymentId).isOver ? 'over' : 'open' }
    }
  }
  const receiver = createStreamReceiver({
    ilpAddress,
    addresses,
    credits,
    clock,
    random: { bytes: randomBytes }
  })
  const server = createServer((request, response) => {
    void (async () => {
      const body = Buffer.concat((await request.toArray()) as Buffer[])
      if (request.headers.authorization !== `Bearer ${peer.token}`) {
        response.writeHead(401).end()
        return
      }
      if (peer.isDown) {
        response.writeHead(503).end()
        return
      }
      const prepare = decodePrepare(body)
      peer.packets.push(prepare)
      const answer = (): Promise<Reply> =>
        receiver.receive(prepare, {
          packetLimitValue: peer.packetLimitValue,
          isBusy: false,
          convert: (value) => (value * peer.rateThousandths) / 1_000n
        })
      if (isProbe(prepare) && peer.probeLimitValue !== undefined) {
        const data = encodeAmountTooLarge({
          receivedValue: prepare.amount,
          maximumValue: peer.probeLimitValue
        })
        const reject = { type: 'reject', code: 'F08', triggeredBy: '', message: '', data } as const
        response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(encodeReply(reject))
        return
      }
      const reply = await (isProbe(prepare) || peer.handle === undefined
        ? answer()
        : peer.handle(prepare, answer, response))
      if (reply === undefined) return
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(encodeReply(reply))
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const peer: ReceivingPeer = {
    endpoint: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`,
    ilpAddress,
    token: 'what-we-present-to-them',
    packets: [],
    rateThousandths: 1_000n,
    packetLimitValue: undefined,
    probeLimitValue: undefined,
    isDown: false,
    handle: undefined,
    credit: undefined,
    methodOf(paymentId, asset) {
      const { ilpAddress: address, sharedSecret } = addresses.issue({ paymentId, asset })
      return { type: 'ilp', ilpAddress: address, sharedSecret: sharedSecret.toString('base64url') }
    },
    paymentIdOf({ destination }) {
      const resolved = addresses.resolve(destination)
      return resolved.outcome === 'payment' ? resolved.target.paymentId : undefined
    },
    payment: paymentOf,
    limit(paymentId, maxValue) {
      payments.set(paymentId, { maxValue, receivedValue: 0n, isOver: false })
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve()
        })
        server.closeAllConnections()
      })
  }
  return peer
}
