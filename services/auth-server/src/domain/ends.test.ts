import { describe, expect, it } from '@jest/globals'
import { decideEnd, type End, type FoundReservation } from './ends.js'

type Before = NonNullable<FoundReservation['before']>

const settling = (settledDebitValue: bigint, settledReceiveValue: bigint): End => ({
  paymentId: 'p',
  settled: { settledDebitValue, settledReceiveValue }
})
const RELEASING: End = { paymentId: 'p', settled: undefined }

/** A reservation of 100 for 90 that was not ended. */
const found = (state: Before['state'], more: Partial<Before> = {}): FoundReservation => ({
  ended: false,
  before: {
    state,
    isReleasedRefusal: false,
    reserved: state === 'refused' ? undefined : { debitValue: 100n, receiveValue: 90n },
    settled: undefined,
    ...more
  }
})
const UNKNOWN: FoundReservation = { ended: false, before: undefined }
const SETTLED = found('settled', { settled: { settledDebitValue: 40n, settledReceiveValue: 30n } })

describe('the end of a reservation', () => {
  it.each<[string, End, FoundReservation, ReturnType<typeof decideEnd>]>([
    ['settled by this call', settling(40n, 30n), { ...found('open'), ended: true }, 'ended'],
    ['settled before with the same values', settling(40n, 30n), SETTLED, 'ended'],
    ['settled before with another debit', settling(41n, 30n), SETTLED, 'ended-otherwise'],
    ['settled before with less received', settling(40n, 29n), SETTLED, 'ended-otherwise'],
    [
      'to be settled with too much, whatever became of it',
      settling(101n, 0n),
      SETTLED,
      'more-debited-than-reserved'
    ],
    ['to be settled with too much received', settling(0n, 91n), found('open'), 'more-received-than-reserved'],
    ['to be settled and changed meanwhile', settling(40n, 30n), found('open'), 'raced'],
    ['to be settled and released before', settling(0n, 0n), found('released'), 'ended-otherwise'],
    ['to be settled and refused', settling(0n, 0n), found('refused'), 'ended-otherwise'],
    ['to be settled and unknown', settling(0n, 0n), UNKNOWN, 'unknown'],
    ['unknown and barred by this call', RELEASING, { ...UNKNOWN, ended: true }, 'ended'],
    ['to be released and recorded meanwhile', RELEASING, UNKNOWN, 'raced'],
    ['to be released and changed meanwhile', RELEASING, found('open'), 'raced'],
    ['released before', RELEASING, found('released'), 'ended'],
    ['to be released and settled before', RELEASING, SETTLED, 'was-settled'],
    ['refused and released before', RELEASING, found('refused', { isReleasedRefusal: true }), 'ended'],
    ['refused and released or purged meanwhile', RELEASING, found('refused'), 'raced']
  ])('is decided for one that is %s', (_case, end, what, decision) => {
    expect(decideEnd(end, what)).toBe(decision)
  })
})
