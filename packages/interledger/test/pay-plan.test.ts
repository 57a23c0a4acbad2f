import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { NO_PROGRESS, rateOfPacket } from '../src/index.js'
import { PaymentPlan } from '../src/pay-plan.js'

type Packet = NonNullable<ReturnType<PaymentPlan['next']>>

describe('the plan of a payment', () => {
  it('counts packets under way against what may be sent', () => {
    const plan = new PaymentPlan(
      { sendMaxValue: 30n, deliverValue: 15n },
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
              else if (what === 'too-large') plan.limitPackets(packet.sendValue - 1n)
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
})
