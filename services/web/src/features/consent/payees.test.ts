import { describe, expect, it } from '@jest/globals'
import type { Receiver } from '../../domain/payment.js'
import { askForPayees, asTold, payeeFields, purposeOf, readPayeeFields } from './payees.js'

const HERE = 'https://wallet.example/incoming-payments/1'
const THERE = 'https://other.example/incoming-payments/2'
const DORA = 'https://other.example/dora'
const receiver = (url: string, place: Receiver['place'], walletAddress = ''): readonly [string, Receiver] => [
  url,
  { url, place, walletAddress, name: '', description: '' }
]
const KNOWN = new Map([receiver(HERE, 'here', 'https://wallet.example/bob'), receiver(THERE, 'elsewhere')])

describe('payees elsewhere', () => {
  const asked: (readonly [readonly string[], object])[] = []
  const receivers = {
    describe: (urls: readonly string[], options: object) => {
      asked.push([urls, options])
      return Promise.resolve(new Map([receiver(THERE, 'elsewhere', DORA)]))
    }
  }

  it('are asked for alone, and told in the order of the request', async () => {
    const told = await askForPayees(KNOWN, receivers)
    expect(asked).toEqual([[[THERE], { asksProviders: true }]])
    expect([...told.values()].map(({ walletAddress }) => walletAddress)).toEqual([
      'https://wallet.example/bob',
      DORA
    ])
    const here = await askForPayees(new Map([receiver(HERE, 'here')]), receivers)
    expect([asked.length, here.size]).toEqual([1, 1])
  })

  it('are told again as they were when the question was shown', async () => {
    const fields = payeeFields(await askForPayees(KNOWN, receivers))
    expect(fields).toEqual([['payee-1', DORA]])
    const form = new URLSearchParams([['hash', 'x'], ...fields.map((field) => [...field]), ['token', 'y']])
    expect(readPayeeFields(form)).toEqual(fields)
    expect(asTold(KNOWN, fields).get(THERE)?.walletAddress).toBe(DORA)
    expect(payeeFields(asTold(KNOWN, fields))).toEqual(fields)
  })

  it('never take the place of one that is hosted here', () => {
    const forged = [['payee-0', DORA]] as const
    expect(asTold(KNOWN, forged).get(HERE)?.walletAddress).toBe('https://wallet.example/bob')
  })

  it('belong to the form that was shown with them', () => {
    const purposes = [
      purposeOf('one', []),
      purposeOf('one', [['payee-1', DORA]]),
      purposeOf('one', [['payee-1', `${DORA}/x`]]),
      purposeOf('other', [])
    ]
    expect(new Set(purposes).size).toBe(4)
  })
})
