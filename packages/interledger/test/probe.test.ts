import { describe, expect, it } from '@jest/globals'
import {
  decodePrepare,
  encodeReply,
  type PacketPath,
  probe,
  type ProbeResult,
  type StreamCredentials
} from '../src/index.js'
import { streamKeys } from '../src/stream-keys.js'
import { openStreamPacket, sealStreamPacket, type StreamFrame } from '../src/stream-packet.js'
import { createSimulatedPath, type PathBehavior, RANDOM } from './support/simulated-path.js'
import { VirtualClock } from './support/virtual-clock.js'

const ONE = { numerator: 1n, denominator: 1n }
const EUR = { code: 'EUR', scale: 2 }

async function probed(
  behavior: PathBehavior,
  wrap: (path: PacketPath, credentials: StreamCredentials, clock: VirtualClock) => PacketPath = (path) => path
): Promise<{ result: ProbeResult; amounts: bigint[]; tookMs: number }> {
  const clock = new VirtualClock()
  const startedMs = clock.now()
  const path = createSimulatedPath(behavior, clock, () => 0.5)
  const amounts: bigint[] = []
  const wrapped = wrap(path, path.credentials, clock)
  const counted: PacketPath = {
    send: (bytes, signal) => {
      const { amount, executionCondition, data } = decodePrepare(bytes)
      amounts.push(amount)
      const said = openStreamPacket(data, streamKeys(path.credentials.sharedSecret).encryption)!
      expect(said.amount).toBeGreaterThan(0n)
      expect(executionCondition).toHaveLength(32)
      return wrapped.send(bytes, signal)
    }
  }
  const result = await clock.run(
    probe(path.credentials, behavior.rate, { path: counted, clock, random: RANDOM })
  )
  expect(path.credits.asked).toEqual([])
  return { result, amounts, tookMs: clock.now() - startedMs }
}

/** Rejects with a code what is above a limit. */
const above =
  (limit: bigint, code: string) =>
  (path: PacketPath): PacketPath => ({
    send: (bytes, signal) =>
      decodePrepare(bytes).amount > limit ? Promise.resolve(reject(code)) : path.send(bytes, signal)
  })

const reject = (code: string, data: Buffer = Buffer.alloc(0)): Buffer =>
  encodeReply({ type: 'reject', code, triggeredBy: 'test.connector', message: '', data })

/** The receiver answers with some amount and frames. */
const receiverSays =
  (receivedValue: (amount: bigint) => bigint, frames: (amount: bigint) => StreamFrame[], key?: Buffer) =>
  (_path: PacketPath, { sharedSecret }: StreamCredentials): PacketPath => ({
    send: async (bytes) => {
      const { amount, data } = decodePrepare(bytes)
      const { encryption } = streamKeys(sharedSecret)
      const { sequence } = openStreamPacket(data, encryption)!
      const said = {
        type: 'reject',
        sequence,
        amount: receivedValue(amount),
        frames: frames(amount)
      } as const
      return reject('F99', sealStreamPacket(said, key ?? encryption, RANDOM))
    }
  })

describe('a probe', () => {
  it('finds rate and asset with one packet', async () => {
    const rate = { numerator: 433n, denominator: 400n }
    const { result, amounts } = await probed({ rate })
    expect(amounts).toEqual([10n ** 12n])
    expect(result).toEqual({
      outcome: 'found',
      path: {
        rate: {
          low: { numerator: 1_082_500_000_000n, denominator: 10n ** 12n },
          high: { numerator: 1_082_500_000_001n, denominator: 10n ** 12n }
        },
        packetLimitValue: undefined,
        asset: EUR
      }
    })
  })

  it('finds the largest packet that the path takes, as F08 tells', async () => {
    const { result, amounts } = await probed({ rate: ONE, packetLimitValue: 12_345n })
    expect(amounts).toEqual([10n ** 12n, 12_345n])
    expect(result).toMatchObject({ outcome: 'found', path: { packetLimitValue: 12_345n, asset: EUR } })
  })

  it('finds a packet that the path takes, when F08 has no data', async () => {
    const { result, amounts } = await probed({ rate: ONE, packetLimitValue: 12_345n, hasLimitData: false })
    expect(amounts.length).toBeLessThan(25)
    const { path } = result as Extract<ProbeResult, { outcome: 'found' }>
    expect(path.packetLimitValue).toBeGreaterThanOrEqual(6_172n)
    expect(path.packetLimitValue).toBeLessThanOrEqual(12_345n)
  })

  it.each(['T04', 'R01', 'F03'])(
    'tries smaller amounts where large ones are rejected with %s',
    async (code) => {
      const { result } = await probed({ rate: ONE }, above(10n ** 7n, code))
      expect(result).toMatchObject({
        outcome: 'found',
        path: { rate: { low: { numerator: 10n ** 7n } }, packetLimitValue: undefined }
      })
    }
  )

  it.each(['F04', 'F05', 'F99', 'R01', 'T00'])(
    'understands the receiver, whichever code it has: %s',
    async (code) => {
      const { result } = await probed({ rate: ONE }, (path) => ({
        send: async (bytes, signal) => {
          const reply = await path.send(bytes, signal)
          return Buffer.from(reply.toString('latin1').replace('F99', code), 'latin1')
        }
      }))
      expect(result.outcome).toBe('found')
    }
  )

  it('goes on beside a packet without an answer', async () => {
    const { result, tookMs } = await probed({ rate: ONE }, (path) => ({
      send: (bytes, signal) =>
        decodePrepare(bytes).amount > 10n ** 6n ? new Promise(() => undefined) : path.send(bytes, signal)
    }))
    expect(result).toMatchObject({ outcome: 'found', path: { rate: { low: { numerator: 10n ** 6n } } } })
    expect(tookMs).toBeLessThan(5_000)
  })

  it('ends after ten seconds without any answer', async () => {
    const { result, tookMs } = await probed({ rate: ONE }, () => ({
      send: () => new Promise(() => undefined)
    }))
    expect(result).toEqual({ outcome: 'failed', because: 'no-answer' })
    expect(tookMs).toBeLessThanOrEqual(10_000)
  })

  it.each(['F02', 'F06', 'T01'])('that is always rejected with %s fails with it', async (code) => {
    const { result } = await probed({ rate: ONE }, above(-1n, code))
    expect(result).toEqual({ outcome: 'failed', because: 'rejected', code })
  })

  it('believes nobody but the receiver', async () => {
    const forged = await probed(
      { rate: ONE },
      receiverSays(
        (amount) => amount * 2n,
        () => [],
        Buffer.alloc(32)
      )
    )
    expect(forged.result).toEqual({ outcome: 'failed', because: 'rejected', code: 'F99' })
    let earlier: Buffer | undefined
    const repeated = await probed({ rate: ONE }, (path) => ({
      send: async (bytes, signal) => {
        if (earlier !== undefined) return earlier
        earlier = await path.send(bytes, signal)
        return reject('T00')
      }
    }))
    expect(repeated.result).toEqual({ outcome: 'failed', because: 'rejected', code: 'T00' })
    const garbage = await probed({ rate: ONE }, () => ({ send: async () => Buffer.from('hello') }))
    expect(garbage.result).toEqual({ outcome: 'failed', because: 'no-answer' })
    const fulfilled = await probed({ rate: ONE }, () => ({
      send: async () => encodeReply({ type: 'fulfill', fulfillment: Buffer.alloc(32), data: Buffer.alloc(0) })
    }))
    expect(fulfilled.result).toEqual({ outcome: 'failed', because: 'no-answer' })
  })

  it('asks for no more than an amount can be', async () => {
    const { result } = await probed({ rate: { numerator: 10n ** 15n, denominator: 1n } })
    expect(result).toMatchObject({ outcome: 'found', path: { packetLimitValue: 18_446n } })
  })

  it('fails when the receiver closes', async () => {
    for (const type of ['connection-close', 'stream-close'] as const) {
      const { result } = await probed(
        { rate: ONE },
        receiverSays(
          (amount) => amount,
          () => [{ type }]
        )
      )
      expect(result).toEqual({ outcome: 'failed', because: 'closed' })
    }
  })

  it('fails when the receiver tells of two assets', async () => {
    const frames = (): StreamFrame[] => [
      { type: 'connection-asset-details', code: 'EUR', scale: 2 },
      { type: 'connection-asset-details', code: 'EUR', scale: 3 }
    ]
    const { result } = await probed(
      { rate: ONE },
      receiverSays((amount) => amount, frames)
    )
    expect(result).toEqual({ outcome: 'failed', because: 'asset-changed' })
  })

  it('of a path that says that everything is too large ends', async () => {
    for (const hasLimitData of [true, false]) {
      const { result, amounts } = await probed({ rate: ONE, packetLimitValue: 0n, hasLimitData })
      expect(result).toEqual({ outcome: 'failed', because: 'rejected', code: 'F08' })
      expect(amounts.length).toBeLessThan(60)
    }
  })
})
