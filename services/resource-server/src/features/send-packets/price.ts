import {
  isFinal,
  isLess,
  type PathRate,
  probe,
  type ProbedPath,
  termsFromDeliver,
  termsFromSend
} from '@open-payments-server/interledger'
import { formatAmount, isSameAsset, type Rate } from '@open-payments-server/value-types/amounts'
import {
  invalidReceiver,
  noRate,
  nonPositiveReceiveAmount,
  temporarilyUnavailable
} from '../../domain/errors.js'
import type { PricedSending, PricingRequest } from '../../domain/outgoing-method.js'
import { computeAmounts, findMismatch, type FixedAmount, type QuotingResult } from '../../domain/quoting.js'
import { feesOf } from '../../domain/rates.js'
import { missingAmount, remainingRoom } from '../../domain/receiver.js'
import { ensureAsset } from '../../modules/ledger/index.js'
import { findPeersTowards, type SendingPeer } from '../../modules/peers/index.js'
import type { SendPacketsDependencies } from './dependencies.js'
import { leastRate, reserveOf } from './path-rate.js'
import { pathOver } from './peer-path.js'
import { type PayableReceiver, readPayableReceiver, stateOf } from './receiver.js'

/** A way to a receiver: over a peer, with the rate from the sender's asset to that of the peer. */
interface Way {
  readonly sender: PricingRequest['sender']
  readonly peer: SendingPeer
  readonly rate: Rate
  readonly receiver: PayableReceiver
}

/**
 * The terms of a payment over Interledger: they are firm. The sender pays the debit, the receiver gets what is promised, and what the way takes
 * more or less is the provider's.
 *
 * @throws Refusal `not-payable` for what is no receiver, cannot be reached, or does not take the amount; `unavailable` when its provider,
 *   or the way to it, does not answer; `rates-unavailable` when our own rate is not available now
 */
export async function price(
  { sender, receiver: url, fixed: given }: PricingRequest,
  dependencies: SendPacketsDependencies
): Promise<PricedSending> {
  const receiver = await readPayableReceiver(url, dependencies)
  const nowMs = dependencies.clock.now()
  const fixed = given ?? {
    side: 'receive',
    amount: missingAmount({ ...receiver, ...stateOf(receiver) }, nowMs)
  }
  const mismatch = findMismatch({ sender, receiver, fixed })
  if (mismatch !== undefined) throw mismatch
  const way = await findWay(sender, receiver, dependencies)
  const path = await probeWay(way, dependencies)
  dependencies.recentReceivers.remember(receiver)
  const { amounts, sendMaxValue } = amountsOver(way, path, fixed, dependencies)
  if (amounts.receiveValue > remainingRoom(stateOf(receiver), nowMs)) {
    throw invalidReceiver(new Error('the receiver takes less than the amount'))
  }
  return {
    amounts,
    receiveAsset: receiver.asset,
    receiveAssetId: await ensureAsset(dependencies.database, receiver.asset),
    sending: {
      peerId: way.peer.id,
      sendMaxValue,
      fixedFeeValue: feesOf(dependencies.termSources.fees, sender.asset).fixed
    }
  }
}

/** The peer that packets go to: one in the sender's asset if there is, else one in an asset that it can be exchanged for. */
async function findWay(
  sender: PricingRequest['sender'],
  receiver: PayableReceiver,
  { database, termSources }: SendPacketsDependencies
): Promise<Way> {
  const peers = await findPeersTowards(database, receiver.credentials.ilpAddress)
  const rank = ({ asset }: SendingPeer): number => {
    if (isSameAsset(asset, sender.asset)) return 0
    return asset.code === sender.asset.code ? 1 : 2
  }
  for (const peer of peers.toSorted((a, b) => rank(a) - rank(b))) {
    const rate = await termSources.rates.getRate(sender.asset, peer.asset)
    if (rate !== undefined) return { sender, peer, rate, receiver }
  }
  throw peers.length === 0
    ? invalidReceiver(new Error('no peer leads to the receiver'))
    : noRate(sender.asset.code, receiver.asset.code)
}

/**
 * @throws Refusal `not-payable` when the receiver does not take packets, or at too bad a rate; `unavailable` when nobody answers;
 *   `rates-unavailable`
 */
async function probeWay({ peer, receiver }: Way, dependencies: SendPacketsDependencies): Promise<ProbedPath> {
  const { logger, termSources } = dependencies
  const least = await leastRate(peer.asset, receiver.asset, termSources.rates)
  const path = await pathOver(peer, dependencies)
  const result = await probe(receiver.credentials, least, { ...dependencies, path })
  if (result.outcome === 'failed') {
    logger.warn({ peerId: peer.id, ...result }, 'no way to a receiver at another provider')
    const isForGood = result.because === 'rejected' ? isFinal(result.code) : result.because !== 'no-answer'
    throw isForGood
      ? invalidReceiver(new Error(`the receiver cannot be paid: ${result.because}`))
      : temporarilyUnavailable(new Error('no packet reaches the receiver'))
  }
  const { asset, rate, packetLimitValue } = result.path
  if (asset !== undefined && !isSameAsset(asset, receiver.asset)) {
    throw invalidReceiver(new Error('the receiver receives another asset than its document says'))
  }
  if (packetLimitValue !== undefined && bringsNothing(packetLimitValue, rate)) {
    throw invalidReceiver(new Error('not even the largest packet that the way takes brings anything'))
  }
  if (!isLess(least, rate.high)) throw noRate(peer.asset.code, receiver.asset.code)
  // A small packet shows little, and whoever wants shows small ones only: what rounding hides of the rate is not the payer's to pay. A way that
  // is worse than this ends the payment.
  return isLess(rate.low, least) ? { ...result.path, rate: { ...rate, low: least } } : result.path
}

/** Whether an amount brings less than one unit of the receiver, whatever the rate is within its bounds: the upper one is not reached. */
function bringsNothing(sendValue: bigint, { high }: PathRate): boolean {
  return sendValue * high.numerator <= high.denominator
}

/** @throws Refusal `not-payable` for an amount too small to deliver anything; `invalid-field` for one beyond 64 bits */
function amountsOver(
  way: Way,
  { rate }: ProbedPath,
  fixed: FixedAmount,
  { termSources, slippageBasisPoints }: Pick<SendPacketsDependencies, 'termSources' | 'slippageBasisPoints'>
): { readonly amounts: PricedSending['amounts']; readonly sendMaxValue: bigint } {
  const { sender, peer, receiver } = way
  const reserve = reserveOf(rate, {
    source: peer.asset,
    target: receiver.asset,
    basisPoints: slippageBasisPoints
  })
  const toPeer = (amount: FixedAmount): QuotingResult =>
    computeAmounts(amount, {
      source: sender.asset,
      target: peer.asset,
      rate: way.rate,
      fees: feesOf(termSources.fees, sender.asset)
    })
  const sent = (sendValue: bigint): QuotingResult =>
    toPeer({ side: 'receive', amount: { value: sendValue, asset: peer.asset } })

  if (fixed.side === 'receive') {
    const terms = termsFromDeliver(fixed.amount.value, rate, reserve)
    if (terms === undefined || fixed.amount.value === 0n)
      throw invalidReceiver(new Error('no amount arrives'))
    const { amounts, refusal } = sent(terms.sendMaxValue)
    if (refusal !== undefined) throw refusal
    return { amounts: { ...amounts, receiveValue: terms.deliverValue }, sendMaxValue: terms.sendMaxValue }
  }
  const { amounts, refusal } = toPeer(fixed)
  if (refusal !== undefined) throw refusal
  const terms = termsFromSend(amounts.receiveValue, rate, reserve)
  if (terms.deliverValue > 0n) {
    return { amounts: { ...amounts, receiveValue: terms.deliverValue }, sendMaxValue: terms.sendMaxValue }
  }
  const smallest = termsFromDeliver(1n, rate, reserve)
  const needed = smallest && sent(smallest.sendMaxValue).amounts
  if (needed === undefined) throw invalidReceiver(new Error('no amount arrives'))
  throw nonPositiveReceiveAmount(formatAmount({ value: needed.debitValue, asset: sender.asset }))
}
