import { ConfigurationError } from '@open-payments-server/runtime/configuration'
import {
  AmountError,
  convertRoundedDown,
  convertRoundedUp,
  describeAmount,
  feeFor,
  formatAmount,
  parseAmount,
  parseAmountValue,
  parseMajorUnits,
  parseRate,
  UINT64_MAX
} from '@open-payments-server/value-types/amounts'
import fc from 'fast-check'
import { parseFeeTable } from '../../../../services/resource-server/src/features/exchange-rates/fee-table.js'
import { createRateTable } from '../../../../services/resource-server/src/features/exchange-rates/rate-table.js'
import { anyText, grown, mutated } from '../generators/text.js'
import { ACCEPTED, type AnyTarget, mustHold, refusedAs, target } from '../target.js'

/** Longest text that reaches a parser of amounts, in characters: a body may be a single one. */
const TEXT_LENGTH_MAX = 65_536

const numberPiece = fc.constantFrom(
  '0',
  '1',
  '9',
  '.',
  ',',
  '-',
  '+',
  'e',
  ' ',
  '\n',
  '_',
  '\u0660',
  '\uff11',
  'x'
)

const numbers = fc.oneof(
  { weight: 6, arbitrary: fc.bigInt({ min: 0n, max: UINT64_MAX + 10n }).map(String) },
  {
    weight: 6,
    arbitrary: fc.tuple(fc.nat(), fc.nat(99)).map(([whole, part]) => `${String(whole)}.${String(part)}`)
  },
  { weight: 4, arbitrary: mutated(fc.nat().map(String), numberPiece) },
  { weight: 1, arbitrary: anyText },
  { weight: 1, arbitrary: grown(numberPiece, TEXT_LENGTH_MAX) }
)

const codes = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('USD', 'EUR', '!', 'x'.repeat(32), 'x'.repeat(33), '') },
  { weight: 1, arbitrary: anyText }
)
const scales = fc.oneof(
  { weight: 6, arbitrary: fc.nat(255) },
  { weight: 1, arbitrary: fc.constantFrom(-1, 256, 0.5, NaN, -0) }
)

const refusalOf = (error: unknown): string | undefined =>
  error instanceof AmountError ? error.field : undefined

/** What `parse` makes of a text; undefined when it refuses it. */
function attempt<Value>(parse: () => Value): Value | undefined {
  let value: Value | undefined
  refusedAs(() => {
    value = parse()
    return ACCEPTED
  }, refusalOf)
  return value
}

const amounts = target({
  name: 'amounts and rates',
  share: 300,
  acceptedMin: 0.1,
  cases: fc.record({ text: numbers, code: codes, scale: scales, other: fc.nat(255), rate: numbers }),
  attack({ text, code, scale, other, rate: rateText }) {
    const value = attempt(() => parseAmountValue(text))
    mustHold(value === undefined || value.toString() === text, 'an amount has one spelling')
    const asset = { code: 'USD', scale: other }
    const typed = attempt(() => parseMajorUnits(text, asset))
    if (typed !== undefined) {
      const [whole = '', decimals = ''] = text.split('.')
      const told = describeAmount(typed)
      const expected = other === 0 ? whole : `${whole}.${decimals.padEnd(other, '0')}`
      mustHold(told === `${expected} USD`, 'what is typed is what is told')
    }
    const rate = attempt(() => parseRate(rateText))
    const amount = attempt(() => parseAmount({ value: text, assetCode: code, assetScale: scale }))
    if (amount === undefined) return 'no amount'
    mustHold(JSON.stringify(formatAmount(amount)).includes(`"${text}"`), 'an amount travels as it came')
    if (rate === undefined) return ACCEPTED
    const down = attempt(() => convertRoundedDown(amount.value, amount.asset, asset, rate))
    const back =
      down === undefined ? undefined : attempt(() => convertRoundedUp(down, amount.asset, asset, rate))
    mustHold(back === undefined || back <= amount.value, 'converting gives no money away')
    mustHold(
      feeFor(amount.value, { fixed: 1n, basisPoints: 9_999 }) <= amount.value,
      'a fee is never more than the debit'
    )
    return ACCEPTED
  }
})

const tableEntry = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('USD/EUR=0.9', 'EUR/USD=1.1', 'A/B=1', ' USD/JPY=110 ', '') },
  { weight: 4, arbitrary: fc.constantFrom('USD=10+50', 'EUR=0+25', 'X=0+0', 'USD=10+9999', 'USD=10+10000') },
  { weight: 1, arbitrary: mutated(fc.constantFrom('USD/EUR=0.9', 'USD=10+50')) }
)
const tables = fc.oneof(
  { weight: 8, arbitrary: fc.array(tableEntry, { maxLength: 3 }).map((entries) => entries.join(',')) },
  { weight: 1, arbitrary: anyText },
  {
    weight: 1,
    arbitrary: grown(fc.constantFrom('/', '=', '+', ',', 'A', '9', ' ', 'A/B=1,'), TEXT_LENGTH_MAX)
  }
)

const rateTables = target({
  name: 'tables of rates and fees',
  share: 200,
  acceptedMin: 0.1,
  cases: tables,
  attack(text) {
    const outcomes = [() => void createRateTable(text), () => void parseFeeTable(text)].map((read) =>
      refusedAs(
        () => {
          read()
          return ACCEPTED
        },
        (error) => (error instanceof ConfigurationError ? 'refused' : undefined)
      )
    )
    return outcomes.includes(ACCEPTED) ? ACCEPTED : 'refused'
  }
})

/** Everything that reads amounts. */
export const AMOUNT_TARGETS: readonly AnyTarget[] = [amounts, rateTables]
