import { type Asset, UINT64_MAX } from '@open-payments-server/value-types/amounts'
import { exchangePacket, type PacketAnswer, sealPacket, type SendDependencies } from './exchange.js'
import { type Fraction, greatest, least, timesRoundedDown } from './fraction.js'
import { limitFromReject } from './packet-limit.js'
import { type PathRate, rateOfPacket } from './path-rate.js'
import type { StreamCredentials } from './payment-addresses.js'
import { isFinal } from './reject-codes.js'
import { streamKeys } from './stream-keys.js'
import type { StreamFrame } from './stream-packet.js'

/** The amounts that are tried, from the largest: it shows the rate with twelve digits. */
const LARGEST_VALUE = 10n ** 12n
const SMALLER_VALUES = Array.from({ length: 12 }, (_, index) => 10n ** BigInt(11 - index))

/** How long a packet may be under way. */
const LIFETIME_MS = 10_000
/** When amounts have no answer yet, others are tried beside them. */
const PATIENCE_MS = 2000
/** What a probe takes at most. */
const DURATION_MAX_MS = 10_000

/** What a probe found out about the path to a receiver. */
export interface ProbedPath {
  readonly rate: PathRate
  /** The largest packet that the path takes, in our units; undefined when none was too large. */
  readonly packetLimitValue: bigint | undefined
  /** The receiver's asset, if it told. */
  readonly asset: Asset | undefined
}

/** Why a probe found nothing. */
export type ProbeFailure =
  /** Nobody answered, or no answer was the receiver's. */
  | { readonly because: 'no-answer' }
  /** The path or the receiver does not take packets: `code` says why. */
  | { readonly because: 'rejected'; readonly code: string }
  /** The receiver takes no payment any more. */
  | { readonly because: 'closed' }
  /** The receiver told of two assets. */
  | { readonly because: 'asset-changed' }

export type ProbeResult =
  { readonly outcome: 'found'; readonly path: ProbedPath } | ({ readonly outcome: 'failed' } & ProbeFailure)

/**
 * Finds out the rate and the capacity of the path to a receiver, with packets that nobody can fulfill. Only the receiver's own
 * answers count.
 *
 * @param expectedRate the least acceptable rate, receiver's units for one of ours: probes ask for it, as packets that pay would
 */
export async function probe(
  destination: StreamCredentials,
  expectedRate: Fraction,
  dependencies: SendDependencies
): Promise<ProbeResult> {
  const { clock } = dependencies
  const findings = createFindings()
  const send = createSender(destination, expectedRate, findings, dependencies)
  const deadlineMs = clock.now() + DURATION_MAX_MS
  const within = async (milliseconds: number, packets: Promise<unknown>): Promise<void> => {
    const limitMs = Math.min(milliseconds, deadlineMs - clock.now())
    await new Promise<void>((resolve, reject) => {
      const cancel = clock.after(limitMs, resolve)
      packets.finally(cancel).then(() => {
        resolve()
      }, reject)
    })
  }

  const tried = new Set<bigint>()
  let answered: Promise<unknown> = Promise.resolve()
  for (let next: readonly bigint[] = [LARGEST_VALUE]; next.length > 0; next = findings.next(tried)) {
    if (clock.now() >= deadlineMs) break
    for (const value of next) tried.add(value)
    const sent = send(next)
    answered = Promise.all([answered, sent])
    await within(PATIENCE_MS, sent)
  }
  if (findings.result().outcome === 'failed') await within(DURATION_MAX_MS, answered)
  return findings.result()
}

/** Sends probes of some amounts at once, and resolves when all are answered. */
function createSender(
  { ilpAddress, sharedSecret }: StreamCredentials,
  expectedRate: Fraction,
  findings: Findings,
  dependencies: SendDependencies
): (values: readonly bigint[]) => Promise<unknown> {
  const { clock, random } = dependencies
  const keys = streamKeys(sharedSecret)
  // An empty address asks for the receiver's asset, and gives it nowhere to send to.
  const frames: StreamFrame[] = [{ type: 'money-only' }, { type: 'connection-new-address', address: '' }]
  let sequence = 0
  return (values) =>
    Promise.all(
      values.map(async (sendValue) => {
        const outgoing = {
          sequence: sequence++,
          sendValue,
          deliverMinValue: least(greatest(1n, timesRoundedDown(sendValue, expectedRate)), UINT64_MAX),
          frames,
          expiresAtMs: clock.now() + LIFETIME_MS,
          isFulfillable: false
        }
        const sealed = sealPacket(outgoing, ilpAddress, keys, random)
        findings.add(sendValue, await exchangePacket(sealed, keys, dependencies))
      })
    )
}

interface Findings {
  add(sendValue: bigint, answer: PacketAnswer): void
  /** The amounts to try next; none when all is known that can be. */
  next(tried: ReadonlySet<bigint>): readonly bigint[]
  result(): ProbeResult
}

function createFindings(): Findings {
  let arrived: { readonly sendValue: bigint; readonly receivedValue: bigint } | undefined
  let limit: { readonly value: bigint; readonly isExact: boolean } | undefined
  let asset: Asset | undefined
  let rejectCode: string | undefined
  let ended: 'closed' | 'asset-changed' | undefined

  const readFrames = (frames: readonly StreamFrame[]): void => {
    for (const frame of frames) {
      if (frame.type === 'connection-close' || frame.type === 'stream-close') ended ??= 'closed'
      if (frame.type !== 'connection-asset-details') continue
      const { code, scale } = frame
      if (asset !== undefined && (asset.code !== code || asset.scale !== scale)) ended ??= 'asset-changed'
      asset ??= { code, scale }
    }
  }
  return {
    add(sendValue, answer) {
      if (answer.type !== 'rejected') return
      if (answer.word !== undefined) {
        const { receivedValue, frames } = answer.word
        readFrames(frames)
        if (arrived === undefined || arrived.sendValue < sendValue) arrived = { sendValue, receivedValue }
      } else if (answer.code === 'F08') {
        const found = limitFromReject(sendValue, answer.data)
        if (limit === undefined || found.value < limit.value) limit = found
        rejectCode ??= answer.code
      } else if (rejectCode === undefined || isFinal(answer.code)) {
        rejectCode = answer.code
      }
    },
    next(tried) {
      if (ended !== undefined) return []
      const largest = limit?.value ?? LARGEST_VALUE
      if (arrived !== undefined && (limit === undefined || arrived.sendValue >= largest)) return []
      if ((arrived !== undefined || limit?.isExact === true) && largest > 0n && !tried.has(largest)) {
        return [largest]
      }
      return arrived === undefined
        ? SMALLER_VALUES.filter((value) => value <= largest && !tried.has(value))
        : []
    },
    result() {
      if (ended !== undefined) return { outcome: 'failed', because: ended }
      if (arrived === undefined) {
        return rejectCode === undefined
          ? { outcome: 'failed', because: 'no-answer' }
          : { outcome: 'failed', because: 'rejected', code: rejectCode }
      }
      const { sendValue, receivedValue } = arrived
      const rate = rateOfPacket(sendValue, receivedValue)
      // Once anything was too large, only what has arrived is known to pass.
      return { outcome: 'found', path: { rate, packetLimitValue: limit && sendValue, asset } }
    }
  }
}
