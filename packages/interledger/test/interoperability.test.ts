// Against the published implementations: their receivers with our sender, and their senders with our receiver.
import { describe, expect, it } from '@jest/globals'
import { randomBytes } from 'node:crypto'
import { pay as theyPay, PaymentType, setupPayment, startQuote } from '@interledger/pay'
import { StreamServer } from '@interledger/stream-receiver'
import {
  deserializeIlpPrepare,
  isFulfill,
  isReject,
  serializeIlpFulfill,
  serializeIlpReply
} from 'ilp-packet'
import { createConnection, createServer, type DataAndMoneyStream } from 'ilp-protocol-stream'
import {
  type Arrival,
  createPaymentAddresses,
  createSenderClock,
  createStreamReceiver,
  decodePrepare,
  encodeAmountTooLarge,
  encodeReply,
  NO_PROGRESS,
  pay,
  type PayResult,
  type PacketPath,
  probe,
  type ProbeResult,
  type StreamCredentials,
  termsFromSend
} from '../src/index.js'
import { MemoryCredits } from './support/memory-credits.js'
import { MemoryJournal } from './support/memory-journal.js'
import * as reference from './support/reference-codec.js'

const RANDOM = { bytes: randomBytes }
const PAYMENT_ID = '0190a0b0-c0d0-7000-8000-00000000000a'
const EUR = { code: 'EUR', scale: 2 }
const RATE = { numerator: 11n, denominator: 10n }
const CLOCK = createSenderClock({ now: () => Date.now() })

/** What their libraries send packets through. */
interface Plugin {
  connect(): Promise<void>
  disconnect(): Promise<void>
  isConnected(): boolean
  sendData(data: Buffer): Promise<Buffer>
  registerDataHandler(handler: (data: Buffer) => Promise<Buffer>): void
  deregisterDataHandler(): void
}

function pluginTo(
  answer: (data: Buffer) => Promise<Buffer>,
  account = 'test.sender',
  asset = EUR
): Plugin & {
  handler: ((data: Buffer) => Promise<Buffer>) | undefined
} {
  return {
    handler: undefined,
    connect: async () => undefined,
    disconnect: async () => undefined,
    isConnected: () => true,
    async sendData(data) {
      // Their libraries ask their connector for their own address first (IL-RFC 31).
      if (deserializeIlpPrepare(data).destination !== 'peer.config') return answer(data)
      return serializeIlpFulfill({
        fulfillment: Buffer.alloc(32),
        data: Buffer.concat([reference.text(account), Buffer.of(asset.scale), reference.text(asset.code)])
      })
    },
    registerDataHandler(handler) {
      this.handler = handler
    },
    deregisterDataHandler() {
      this.handler = undefined
    }
  }
}

/** A receiver of ours, and what takes packets to it at a rate, up to a limit. */
function ourReceiver(
  maximumValue?: bigint,
  packetLimitValue = 3000n
): {
  readonly credits: MemoryCredits
  readonly credentials: StreamCredentials
  readonly send: (bytes: Buffer) => Promise<Buffer>
} {
  const addresses = createPaymentAddresses({ ilpAddress: 'test.us', secrets: [Buffer.alloc(32, 1)] })
  const credits = new MemoryCredits(() => Date.now())
  credits.open(PAYMENT_ID, maximumValue)
  const receiver = createStreamReceiver({
    ilpAddress: 'test.us',
    addresses,
    credits,
    clock: CLOCK,
    random: RANDOM
  })
  const from: Arrival = {
    packetLimitValue,
    isBusy: false,
    convert: (value) => (value * RATE.numerator) / RATE.denominator
  }
  return {
    credits,
    credentials: addresses.issue({ paymentId: PAYMENT_ID, asset: EUR }),
    send: async (bytes) => encodeReply(await receiver.receive(decodePrepare(bytes), from))
  }
}

/** A connector before a receiver of theirs: converts, and takes packets up to a limit. */
function connector(receive: (bytes: Buffer) => Promise<Buffer>, limit = 3000n): PacketPath {
  return {
    async send(bytes) {
      const prepare = decodePrepare(bytes)
      if (prepare.amount > limit) {
        const data = encodeAmountTooLarge({ receivedValue: prepare.amount, maximumValue: limit })
        return encodeReply({ type: 'reject', code: 'F08', triggeredBy: 'test.connector', message: '', data })
      }
      const amount = (prepare.amount * RATE.numerator) / RATE.denominator
      return receive(reference.prepare({ ...prepare, amount, expiresAtMs: prepare.expiresAtMs - 1000 }))
    }
  }
}

/** Probes, quotes and pays with our sender. */
async function wePay(
  path: PacketPath,
  destination: StreamCredentials,
  sendValue: bigint
): Promise<{ readonly probed: ProbeResult; readonly result: PayResult; readonly deliverValue: bigint }> {
  const dependencies = { path, clock: CLOCK, random: RANDOM }
  const probed = await probe(destination, RATE, dependencies)
  if (probed.outcome === 'failed') throw new Error(`the probe failed: ${JSON.stringify(probed)}`)
  const terms = termsFromSend(sendValue, probed.path.rate, 50)
  const result = await pay(
    {
      destination,
      terms,
      path: probed.path,
      progress: NO_PROGRESS,
      packetLifetimeMs: 20_000,
      untilMs: Infinity,
      signal: new AbortController().signal
    },
    { ...dependencies, journal: new MemoryJournal(terms) }
  )
  return { probed, result, deliverValue: terms.deliverValue }
}

describe('our sender pays', () => {
  it('@interledger/stream-receiver', async () => {
    const server = new StreamServer({ serverSecret: Buffer.alloc(32, 5), serverAddress: 'test.them' })
    const credentials = server.generateCredentials({ paymentTag: 'invoice', asset: EUR })
    let receivedValue = 0n
    const path = connector(async (bytes) => {
      const prepare = deserializeIlpPrepare(bytes)
      const moneyOrReply = server.createReply(prepare)
      if (isFulfill(moneyOrReply) || isReject(moneyOrReply)) return serializeIlpReply(moneyOrReply)
      receivedValue += BigInt(prepare.amount)
      moneyOrReply.setTotalReceived(receivedValue.toString())
      return serializeIlpReply(moneyOrReply.accept())
    })
    const { probed, result, deliverValue } = await wePay(path, credentials, 20_000n)
    expect(probed).toMatchObject({ path: { packetLimitValue: 3000n, asset: EUR } })
    expect(result.end).toEqual({ outcome: 'complete' })
    expect(receivedValue).toBe(result.progress.deliveredValue)
    expect(receivedValue).toBeGreaterThanOrEqual(deliverValue)
  })

  it('a server of ilp-protocol-stream', async () => {
    const plugin = pluginTo(async () => Buffer.alloc(0), 'test.them')
    const server = await createServer({ plugin, serverSecret: randomBytes(32) })
    let receivedValue = 0n
    server.on('connection', (connection) => {
      connection.on('stream', (stream: DataAndMoneyStream) => {
        stream.setReceiveMax('1000000')
        stream.on('money', (amount: string) => {
          receivedValue += BigInt(amount)
        })
      })
    })
    const { destinationAccount, sharedSecret } = server.generateAddressAndSecret()
    const path = connector((bytes) => plugin.handler!(bytes))
    const { probed, result, deliverValue } = await wePay(
      path,
      { ilpAddress: destinationAccount, sharedSecret },
      20_000n
    )
    expect(probed).toMatchObject({ path: { packetLimitValue: 3000n, asset: EUR } })
    expect(result.end).toEqual({ outcome: 'complete' })
    expect(receivedValue).toBe(result.progress.deliveredValue)
    expect(receivedValue).toBeGreaterThanOrEqual(deliverValue)
    await server.close()
  })
})

describe('our receiver is paid', () => {
  const destination = ({ ilpAddress, sharedSecret }: StreamCredentials) => ({
    destinationAddress: ilpAddress,
    sharedSecret
  })
  const prices = { USD: 1.1, EUR: 1 }
  const sourceAsset = { code: 'USD', scale: 2 }

  it('by @interledger/pay: a fixed amount is sent', async () => {
    const { credentials, credits, send } = ourReceiver()
    const plugin = pluginTo(send)
    const resolved = await setupPayment({ plugin, ...destination(credentials) })
    expect(resolved.destinationAsset).toEqual(EUR)
    const quote = await startQuote({
      plugin,
      destination: resolved,
      sourceAsset,
      prices,
      amountToSend: 20_000n
    })
    expect(quote.paymentType).toBe(PaymentType.FixedSend)
    const { amountSent, amountDelivered, error } = await theyPay({ plugin, destination: resolved, quote })
    expect(error).toBeUndefined()
    expect(amountSent).toBe(20_000n)
    expect(amountDelivered).toBe(22_000n)
    expect(credits.payments.get(PAYMENT_ID)).toMatchObject({ receivedValue: 22_000n })
  })

  it('by @interledger/pay: a fixed amount is delivered, and completes the payment', async () => {
    const { credentials, credits, send } = ourReceiver(22_000n)
    const plugin = pluginTo(send)
    const resolved = await setupPayment({ plugin, ...destination(credentials) })
    const quote = await startQuote({
      plugin,
      destination: resolved,
      sourceAsset,
      prices,
      amountToDeliver: 22_000n
    })
    const { amountSent, amountDelivered, error } = await theyPay({ plugin, destination: resolved, quote })
    expect(error).toBeUndefined()
    expect(amountSent).toBe(20_000n)
    expect(amountDelivered).toBe(22_000n)
    expect(credits.payments.get(PAYMENT_ID)).toMatchObject({ receivedValue: 22_000n, isOver: true })
  })

  it('by a client of ilp-protocol-stream', async () => {
    const { credentials, credits, send } = ourReceiver()
    const { ilpAddress, sharedSecret } = credentials
    const plugin = pluginTo(send)
    const connection = await createConnection({ plugin, destinationAccount: ilpAddress, sharedSecret })
    const stream = connection.createStream()
    await stream.sendTotal(20_000)
    expect(stream.totalSent).toBe('20000')
    expect(credits.payments.get(PAYMENT_ID)).toMatchObject({ receivedValue: 22_000n })
    await connection.destroy()
  })
})
