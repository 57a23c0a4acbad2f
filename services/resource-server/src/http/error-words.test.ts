import { expect, it } from '@jest/globals'
import { CommonRefusal } from '@open-payments-server/value-types/refusals'
import * as errors from '../domain/errors.js'
import { ERROR_WORDS } from './error-words.js'

const USD = { code: 'USD', scale: 2 }
const EUR = { code: 'EUR', scale: 2 }

type Factory = Exclude<keyof typeof errors, 'RequestRefused' | 'ResultUnknown'>

/** One refusal of every kind: the compiler misses those that are not here. */
const REFUSALS: Readonly<Record<Factory, Error>> = {
  invalidField: errors.invalidField('debitAmount.value', 'must be a decimal string'),
  invalidToken: errors.invalidToken(),
  inactiveToken: errors.inactiveToken(),
  invalidSignature: errors.invalidSignature('stale'),
  insufficientGrant: errors.insufficientGrant(),
  overLimits: errors.overLimits({ remaining: undefined, refusedBy: undefined }),
  notFound: errors.notFound(),
  accountFrozen: errors.accountFrozen(true),
  clientFrozen: errors.clientFrozen(),
  grantPaused: errors.grantPaused(),
  conflict: errors.conflict('the same request is still running'),
  invalidReceiver: errors.invalidReceiver(),
  amountMissing: errors.amountMissing(),
  invalidQuote: errors.invalidQuote(),
  invalidRefund: errors.invalidRefund('delivered nothing'),
  unknownWalletAddress: errors.unknownWalletAddress('walletAddress'),
  assetMismatch: errors.assetMismatch('debitAmount', EUR, USD),
  noRate: errors.noRate('USD/2', 'EUR/2'),
  nonPositiveReceiveAmount: errors.nonPositiveReceiveAmount({
    value: '1',
    assetCode: 'USD',
    assetScale: 2
  }),
  temporarilyUnavailable: errors.temporarilyUnavailable(undefined),
  tooManyWaiting: errors.tooManyWaiting('client'),
  ratesUnavailable: errors.ratesUnavailable(undefined),
  differentRequest: errors.differentRequest()
}

/** What clients branch on besides the code. */
it.each(Object.entries(REFUSALS))('%s is described as it is documented', (_name, refusal) => {
  if (!(refusal instanceof errors.RequestRefused) && !(refusal instanceof CommonRefusal)) throw refusal
  const { because, message } = refusal
  const { descriptions } = ERROR_WORDS[because]
  // Without a documented description any will do: then clients have nothing to branch on.
  expect(descriptions.length === 0 || descriptions.some((start) => message.startsWith(start))).toBe(true)
})

it('a description is documented for one reason only', () => {
  const all = Object.values(ERROR_WORDS).flatMap(({ descriptions }) => descriptions)
  expect(new Set(all).size).toBe(all.length)
})

it('no details are told of a refusal by limits unless the auth server tells them', () => {
  expect(REFUSALS.overLimits).toHaveProperty('details', undefined)
})
