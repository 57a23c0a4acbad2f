import { beforeEach, describe, expect, it } from '@jest/globals'
import type { Asset, Rate } from '@open-payments-server/amounts'
import { OutgoingRequestError } from '@open-payments-server/http-client'
import { TestClock } from '@open-payments-server/testing'
import type { RateProvider } from '../../domain/rates.js'
import { createRateService } from './rate-service.js'

const USD: Asset = { code: 'USD', scale: 2 }
const EUR: Asset = { code: 'EUR', scale: 2 }
const HALF: Rate = { numerator: 1n, denominator: 2n }

describe('a rate from EXCHANGE_RATES_URL', () => {
  let clock: TestClock
  let rates: RateProvider
  let asked: string[]
  let answer: () => unknown

  beforeEach(() => {
    clock = new TestClock()
    asked = []
    answer = () => ({ rate: '0.5' })
    rates = createRateService({
      url: 'https://rates.test/rate',
      clock,
      cacheSeconds: 15,
      http: {
        async getJson(url) {
          asked.push(url)
          return { status: 200, headers: {}, body: answer(), maxAgeSeconds: undefined }
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
    expect(asked).toEqual(Array.from({ length: 2 }, () => 'https://rates.test/rate?source=USD&target=EUR'))
  })

  it('is not used for longer when the clock is set back', async () => {
    await rates.getRate(USD, EUR)
    answer = () => ({ rate: '0.25' })
    clock.advanceSeconds(-900)
    expect(await rates.getRate(USD, EUR)).toEqual({ numerator: 1n, denominator: 4n })
  })

  it('is asked for once by requests that come together, and never between assets of one code', async () => {
    await Promise.all(Array.from({ length: 20 }, () => rates.getRate(USD, EUR)))
    expect(await rates.getRate(USD, { code: 'USD', scale: 255 })).toEqual({ numerator: 1n, denominator: 1n })
    expect(asked).toHaveLength(1)
  })

  it('that the service does not have is none, which is remembered too', async () => {
    fail(404)
    expect(await rates.getRate(USD, EUR)).toBeUndefined()
    expect(await rates.getRate(USD, EUR)).toBeUndefined()
    expect(asked).toHaveLength(1)
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
})
