import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { NO_PROGRESS, rateOfPacket } from '../src/index.js'
import { PaymentPlan } from '../src/pay-plan.js'

type Packet = NonNullable<ReturnType<PaymentPlan['next']>>

describe('the plan of a payment', () => {
  it('counts packets under way against what may be sent', () => {
    const plan = new PaymentPlan(
      { sendMaxValue: 30n, deliverValue: 30n },
      { rate: undefined, packetLimitValue: 3n },
      NO_PROGRESS
    )
    let sentValue = 0n
    for (let packet = plan.next(); packet !== undefined; packet = plan.next()) sentValue += packet.sendValue
    expect(sentValue).toBe(30n)
  })

  it('keeps to the room that the receiver told, although it hears later of what arrived before', () => {
    const plan = new PaymentPlan(
      { sendMaxValue: 5000n, deliverValue: 5000n },
      { rate: rateOfPacket(10n ** 12n, 10n ** 12n), packetLimitValue: 1000n },
      NO_PROGRESS
    )
    const [first, second] = [plan.next(), plan.next()]
    plan.rejected(second!)
    plan.limitRoom(500n)
    plan.fulfilled(first!, 1000n)
    expect(plan.next()).toMatchObject({ sendValue: 500n })
  })

  it('sends what surely arrives where the largest packet brings few units, and nobody tells what would', () => {
    const limitTenths = fc.bigInt({ min: 10n, max: 100n })
    const rate = fc.constantFrom(100n, 1_000n, 10_000_000n)
    fc.assert(
      fc.property(limitTenths, rate, fc.bigInt({ min: 1n, max: 300n }), (tenths, unit, deliverValue) => {
        const packetLimitValue = (unit * tenths) / 10n
        const sendMaxValue = (deliverValue * unit * 1_005n + 999n) / 1_000n
        const known = rateOfPacket(packetLimitValue, packetLimitValue / unit)
        const plan = new PaymentPlan(
          { sendMaxValue, deliverValue },
          { rate: known, packetLimitValue },
          NO_PROGRESS
        )
        for (let packet = plan.next(); packet !== undefined; packet = plan.next()) {
          const arrived = packet.sendValue / unit
          expect(arrived).toBeGreaterThanOrEqual(packet.deliverMinValue)
          plan.fulfilled(packet, arrived)
        }
        expect(plan.isComplete).toBe(true)
      }),
      { numRuns: 1_000 }
    )
  })

  it('never sends more than may be sent, whatever happens to packets in whatever order', () => {
    const step = fc.record({
      what: fc.constantFrom(
        'next',
        'next',
        'next',
        'fulfilled',
        'unheard',
        'rejected',
        'unknown',
        'too-large',
        'poor',
        'room'
      ),
      which: fc.nat({ max: 30 }),
      value: fc.bigInt({ min: 0n, max: 3000n })
    })
    const terms = fc.record({
      sendMaxValue: fc.bigInt({ min: 1n, max: 3000n }),
      deliverValue: fc.bigInt({ min: 1n, max: 3000n })
    })
    const known = fc.record({
      rate: fc.option(
        fc
          .tuple(fc.bigInt({ min: 1n, max: 1000n }), fc.bigInt({ min: 0n, max: 1000n }))
          .map(([sent, received]) => rateOfPacket(sent, received)),
        { nil: undefined }
      ),
      packetLimitValue: fc.option(fc.bigInt({ min: 0n, max: 1000n }), { nil: undefined })
    })
    fc.assert(
      fc.property(terms, known, fc.array(step, { maxLength: 60 }), (ofTerms, path, steps) => {
        const plan = new PaymentPlan(ofTerms, path, NO_PROGRESS)
        const underWay: Packet[] = []
        const sequences = new Set<number>()
        for (const { what, which, value } of steps) {
          const packet = underWay[which % Math.max(1, underWay.length)]
          if (what === 'next') {
            const next = plan.next()
            if (next === undefined) continue
            expect(next.sendValue).toBeGreaterThan(0n)
            expect(next.deliverMinValue).toBeGreaterThan(0n)
            expect(sequences.has(next.sequence)).toBe(false)
            sequences.add(next.sequence)
            underWay.push(next)
          } else if (packet !== undefined) {
            underWay.splice(underWay.indexOf(packet), 1)
            if (what === 'fulfilled') plan.fulfilled(packet, value)
            else if (what === 'unheard') plan.fulfilled(packet, undefined)
            else if (what === 'unknown') plan.unknown(packet)
            else {
              plan.rejected(packet)
              if (what === 'rejected') plan.observe(packet, value)
              else if (what === 'too-large') plan.tooLarge(packet, packet.sendValue - 1n)
              else if (what === 'poor') plan.lackMoneyFor(packet)
              else plan.limitRoom(value)
            }
          }
          const { sentValue, unknownSentValue } = plan.progress
          const sum = underWay.reduce(
            (total, { sendValue }) => total + sendValue,
            sentValue + unknownSentValue
          )
          expect(sum).toBeLessThanOrEqual(ofTerms.sendMaxValue)
        }
      }),
      { numRuns: 1000 }
    )
  })

  it('follows five limits in a row, and halves its packets after that, until one is fulfilled', () => {
    const terms = { sendMaxValue: 100_000n, deliverValue: 100_000n }
    const plan = new PaymentPlan(terms, { rate: undefined, packetLimitValue: 1000n }, NO_PROGRESS)
    const isTooLarge = (packet: Packet): void => {
      plan.rejected(packet)
      plan.tooLarge(packet, packet.sendValue - 1n)
    }
    const sizes = (count: number): readonly bigint[] =>
      Array.from({ length: count }, () => {
        const packet = plan.next()!
        isTooLarge(packet)
        return packet.sendValue
      })
    // Those that are under way together tell of one limit.
    const together = Array.from({ length: 20 }, () => plan.next()!)
    together.forEach(isTooLarge)
    expect(sizes(6)).toEqual([999n, 998n, 997n, 996n, 995n, 497n])
    const packet = plan.next()!
    expect(packet.sendValue).toBe(248n)
    plan.fulfilled(packet, 248n)
    expect(sizes(6)).toEqual([248n, 247n, 246n, 245n, 244n, 243n])
    expect(plan.next()?.sendValue).toBe(121n)
  })

  it('never asks for less than the terms want, whatever room the receiver told', () => {
    const plan = new PaymentPlan(
      { sendMaxValue: 5000n, deliverValue: 4000n },
      { rate: rateOfPacket(1n, 1n), packetLimitValue: 1000n },
      NO_PROGRESS
    )
    plan.rejected(plan.next()!)
    plan.limitRoom(100n)
    expect(plan.next()).toMatchObject({ sendValue: 100n, deliverMinValue: 80n })
  })

  it('never asks for less than the terms want, whatever rate the receiver told', () => {
    const plan = new PaymentPlan(
      { sendMaxValue: 5000n, deliverValue: 4000n },
      { rate: rateOfPacket(10n ** 12n, 2n * 10n ** 12n), packetLimitValue: 500n },
      NO_PROGRESS
    )
    for (let count = 0; count < 3; count++) {
      expect(plan.next()).toMatchObject({ sendValue: 500n, deliverMinValue: 400n })
    }
  })

  it('lets later packets bring as much less as earlier ones brought more', () => {
    const plan = new PaymentPlan(
      { sendMaxValue: 1000n, deliverValue: 1000n },
      { rate: undefined, packetLimitValue: 100n },
      NO_PROGRESS
    )
    plan.fulfilled(plan.next()!, 130n)
    const second = plan.next()!
    expect(second.deliverMinValue).toBe(70n)
    expect(plan.next()).toMatchObject({ deliverMinValue: 100n })
    plan.fulfilled(second, 70n)
    expect(plan.next()).toMatchObject({ deliverMinValue: 100n })
  })

  it('lets no packet bring less by what one of which nothing is known may, whatever others of these bring', () => {
    const terms = { sendMaxValue: 1000n, deliverValue: 950n }
    const plan = new PaymentPlan(terms, { rate: undefined, packetLimitValue: 10n }, NO_PROGRESS)
    // Of 9.5 units, it brings half a one more; nothing is known of one that may bring as much less, nor of one that brings half a one more.
    plan.fulfilled(plan.next()!, 10n)
    const [short, more] = [plan.next()!, plan.next()!]
    expect([short.deliverMinValue, more.deliverMinValue]).toEqual([9n, 10n])
    plan.unknown(short)
    plan.unknown(more)
    expect(plan.progress).toMatchObject({
      unknownSentValue: 20n,
      unknownDeliverValue: 19n,
      unknownShortValue: 500n
    })
    expect(plan.next()).toMatchObject({ sendValue: 10n, deliverMinValue: 10n })
    expect(
      new PaymentPlan(terms, { rate: undefined, packetLimitValue: 10n }, plan.progress).next()
    ).toMatchObject({
      deliverMinValue: 10n
    })
  })

  it.each([
    ['from scale 9 to scale 2', 1n, 10n ** 7n],
    ['from scale 9 to scale 2 of another asset', 92_137n, 10n ** 12n],
    ['from scale 6 to scale 2', 1n, 10_000n],
    ['from scale 4 to scale 2', 1n, 100n],
    ['from scale 2 to scale 0 of another asset', 107_653n, 10n ** 7n]
  ])('delivers all %s, though a probe tells little of the rate', (_how, numerator, denominator) => {
    const arrivingOf = (value: bigint): bigint => (value * numerator) / denominator
    const deliverValues = fc.oneof(
      fc.bigInt({ min: 1n, max: 100n }),
      fc.bigInt({ min: 1n, max: 1_000_000_000n })
    )
    fc.assert(
      fc.property(deliverValues, fc.bigInt({ min: 5n, max: 50n }), (deliverValue, reserveThousandths) => {
        const exact = (deliverValue * denominator) / numerator
        const terms = { sendMaxValue: exact + (exact * reserveThousandths) / 1_000n + 1n, deliverValue }
        const probe = 10n ** 12n
        const rate = rateOfPacket(probe, arrivingOf(probe))
        const plan = new PaymentPlan(terms, { rate, packetLimitValue: undefined }, NO_PROGRESS)
        let refused = 0
        for (let packet = plan.next(); packet !== undefined; packet = plan.next()) {
          const arriving = arrivingOf(packet.sendValue)
          if (arriving >= packet.deliverMinValue) {
            plan.fulfilled(packet, arriving)
            continue
          }
          refused += 1
          if (refused > 2) break
          plan.rejected(packet)
          // Who stands where nothing of it is left says no more than that.
          if (arriving > 0n) plan.observe(packet, arriving)
        }
        expect([plan.isComplete, refused]).toEqual([true, expect.any(Number)])
        expect(refused).toBeLessThanOrEqual(1)
      }),
      { numRuns: 500 }
    )
  })
})
