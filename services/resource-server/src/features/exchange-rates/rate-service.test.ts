import { beforeEach, describe, expect, it } from '@jest/globals'
import { OutgoingRequestError } from '@open-payments-server/http-client'
import { TestClock } from '@open-payments-server/testing'
import type { Asset, Rate } from '@open-payments-server/value-types/amounts'
import type { RateProvider } from '../../domain/rates.js'
import { createRateService } from './rate-service.js'

const USD: Asset = { code: 'USD', scale: 2 }
const EUR: Asset = { code: 'EUR', scale: 2 }
const HALF: Rate = { numerator: 1n, denominator: 2n }

describe('a rate from EXCHANGE_RATES_URL', () => {
  let clock: TestClock
  let rates: RateProvider
  let asked: string[]
  let refused: string[]
  let answer: (direction: string) => unknown

  beforeEach(() => {
    clock = new TestClock()
    asked = []
    refused = []
    answer = () => ({ rate: '0.5' })
    rates = createRateService({
      url: 'https://rates.test/rate',
      clock,
      cacheSeconds: 15,
      onGainfulCycle: (way) => refused.push(way.join(' ')),
      http: {
        async getJson(url) {
          asked.push(url)
          const { source, target } = Object.fromEntries(new URL(url).searchParams)
          const body = answer(`${String(source)}/${String(target)}`)
          return { status: 200, headers: {}, body, maxAgeSeconds: undefined }
        }
      }
    })
  })

  const fail = (status?: number): void => {
    answer = () => {
      throw new OutgoingRequestError({ reason: 'status', message: 'no', ...(status && { status }) })
    }
  }

  it('is used for as long as it is configured, and not a moment longer, whatever fails', async () => {
    expect(await rates.getRate(USD, EUR)).toEqual(HALF)
    fail(500)
    clock.advanceSeconds(14.999)
    expect(await rates.getRate(USD, EUR)).toEqual(HALF)
    clock.advanceSeconds(0.001)
    await expect(rates.getRate(USD, EUR)).rejects.toMatchObject({ because: 'rates-unavailable' })
    const both = ['USD&target=EUR', 'EUR&target=USD'].map((way) => `https://rates.test/rate?source=${way}`)
    expect(asked).toEqual([...both, ...both])
  })

  it('is not used for longer when the clock is set back', async () => {
    await rates.getRate(USD, EUR)
    answer = () => ({ rate: '0.25' })
    clock.advanceSeconds(-900)
    expect(await rates.getRate(USD, EUR)).toEqual({ numerator: 1n, denominator: 4n })
  })

  it('is asked for once by requests that come together, and never between assets of one code', async () => {
    await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        at % 2 === 0 ? rates.getRate(USD, EUR) : rates.getRate(EUR, USD)
      )
    )
    expect(await rates.getRate(USD, { code: 'USD', scale: 255 })).toEqual({ numerator: 1n, denominator: 1n })
    expect(asked).toHaveLength(2)
  })

  it('that the service does not have is none, which is remembered too', async () => {
    fail(404)
    expect(await rates.getRate(USD, EUR)).toBeUndefined()
    expect(await rates.getRate(USD, EUR)).toBeUndefined()
    expect(asked).toHaveLength(2)
  })

  it.each([
    ['0'],
    ['-1'],
    ['1e3'],
    ['NaN'],
    ['0,5'],
    [''],
    [' 0.5'],
    ['9'.repeat(41)],
    [0.5],
    [null],
    [undefined],
    [['0.5']]
  ])('of %j cannot be had now, and is asked for again', async (rate) => {
    answer = () => ({ rate })
    await expect(rates.getRate(USD, EUR)).rejects.toMatchObject({ because: 'rates-unavailable' })
    answer = () => ({ rate: '0.5' })
    expect(await rates.getRate(USD, EUR)).toEqual(HALF)
  })

  it.each([[null], ['0.5'], [[]], [{}]])('in the answer %j cannot be had now', async (body) => {
    answer = () => body
    await expect(rates.getRate(USD, EUR)).rejects.toMatchObject({ because: 'rates-unavailable' })
  })

  /** Answers as the service would that has these rates. */
  const answerWith = (table: Record<string, string>): void => {
    answer = (direction) => {
      const rate = table[direction]
      if (rate !== undefined) return { rate }
      throw new OutgoingRequestError({ reason: 'status', message: 'no', status: 404 })
    }
  }

  it('is never used beside the other direction of another time', async () => {
    answerWith({ 'USD/EUR': '0.92', 'EUR/USD': '1.08' })
    await rates.getRate(USD, EUR)
    clock.advanceSeconds(14)
    answerWith({ 'USD/EUR': '0.5', 'EUR/USD': '2' })
    expect(await rates.getRate(EUR, USD)).toEqual({ numerator: 27n, denominator: 25n })
  })

  /** Refused rates come again: they are unavailable, as when the service fails. */
  const refusedNow = { because: 'rates-unavailable' }

  it('cannot be had now, either way, where going there and back gains, to the last digit', async () => {
    answerWith({ 'USD/EUR': '0.8', 'EUR/USD': '1.25' })
    expect(await rates.getRate(USD, EUR)).toEqual({ numerator: 4n, denominator: 5n })
    clock.advanceSeconds(15)
    answerWith({ 'USD/EUR': '0.8', 'EUR/USD': '1.25000000000000000000000000000000000001' })
    await expect(rates.getRate(USD, EUR)).rejects.toMatchObject(refusedNow)
    await expect(rates.getRate(EUR, USD)).rejects.toMatchObject(refusedNow)
    expect(refused).toEqual(['EUR USD EUR'])
    expect(asked).toHaveLength(4)
    clock.advanceSeconds(15)
    answerWith({ 'USD/EUR': '0.8', 'EUR/USD': '1.25' })
    expect(await rates.getRate(EUR, USD)).toEqual({ numerator: 5n, denominator: 4n })
  })

  it('cannot be had now where going round over others in use gains, and no other is refused', async () => {
    const GBP: Asset = { code: 'GBP', scale: 2 }
    const MXN: Asset = { code: 'MXN', scale: 2 }
    answerWith({ 'USD/EUR': '0.9', 'EUR/GBP': '0.8', 'GBP/MXN': '25', 'MXN/USD': '0.056' })
    for (const [source, target] of [
      [USD, EUR],
      [EUR, GBP],
      [GBP, MXN]
    ] as const) {
      expect(await rates.getRate(source, target)).toBeDefined()
    }
    // 0.9 × 0.8 × 25 × 0.056 = 1.008
    await expect(rates.getRate(MXN, USD)).rejects.toMatchObject(refusedNow)
    expect(await rates.getRate(USD, MXN)).toBeUndefined()
    expect(refused).toEqual(['MXN USD EUR GBP MXN'])
    expect(await rates.getRate(USD, EUR)).toEqual({ numerator: 9n, denominator: 10n })
    // Once the others are not in use any more, there is nothing to contradict.
    clock.advanceSeconds(15)
    expect(await rates.getRate(MXN, USD)).toEqual({ numerator: 7n, denominator: 125n })
  })

  it('may have no way back', async () => {
    answerWith({ 'USD/EUR': '1000' })
    expect(await rates.getRate(USD, EUR)).toEqual({ numerator: 1000n, denominator: 1n })
    expect(await rates.getRate(EUR, USD)).toBeUndefined()
    expect(refused).toEqual([])
  })
})
