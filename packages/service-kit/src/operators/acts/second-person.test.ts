import { describe, expect, it } from '@jest/globals'
import { readSecondPersonRule } from './second-person.js'

const POSSIBLE = ['Deposit', 'SetAccountHolder']
const OPERATOR_ISSUERS = '[]'
const USD = { code: 'USD', scale: 2 }

describe('a second person', () => {
  it('is needed for the acts that are named, and from an amount on', () => {
    const rule = readSecondPersonRule(
      {
        OPERATOR_ISSUERS,
        OPERATOR_SECOND_PERSON_FOR: 'SetAccountHolder, Deposit',
        OPERATOR_SECOND_PERSON_FROM: '100 USD'
      },
      POSSIBLE
    )
    expect([...rule.methods]).toEqual(['SetAccountHolder', 'Deposit'])
    expect(rule.countsAmounts).toBe(true)
    expect(rule.isAtOrAbove({ asset: USD, value: 9_999n })).toBe(false)
    expect(rule.isAtOrAbove({ asset: USD, value: 10_000n })).toBe(true)
    expect(rule.isAtOrAbove('any')).toBe(true)
  })

  it('is needed for nothing without settings', () => {
    const rule = readSecondPersonRule({}, POSSIBLE)
    expect(rule.methods.size).toBe(0)
    expect(rule.countsAmounts).toBe(false)
    expect(rule.isAtOrAbove('any')).toBe(false)
  })

  it.each([
    [{ OPERATOR_ISSUERS, OPERATOR_SECOND_PERSON_FOR: 'FreezeAccount' }, 'FreezeAccount cannot wait'],
    [
      { OPERATOR_ISSUERS, OPERATOR_SECOND_PERSON_FROM: 'please' },
      'OPERATOR_SECOND_PERSON_FROM: "please" is not'
    ],
    [{ OPERATOR_SECOND_PERSON_FOR: 'Deposit' }, 'need OPERATOR_ISSUERS'],
    [{ OPERATOR_SECOND_PERSON_FROM: 'always' }, 'need OPERATOR_ISSUERS']
  ])('is refused as %j', (config, problem) => {
    expect(() => readSecondPersonRule(config, POSSIBLE)).toThrow(problem)
  })
})
