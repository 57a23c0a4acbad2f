import { describe, expect, it } from '@jest/globals'
import type { AccessItem } from './access.js'
import { createSignInRule, findSignInProblem, parseSignInFrom } from './sign-in-rule.js'

const DEMAND = { ageMaxSeconds: 120, acrValues: ['strong', 'stronger'] }

const paying = (limits?: AccessItem['limits'], actions: AccessItem['actions'] = ['create']): AccessItem => ({
  type: 'outgoing-payment',
  actions,
  identifier: 'https://wallet.example/alice',
  limits
})
const amount = (value: bigint, code = 'USD', scale = 2) => ({ value, asset: { code, scale } })
const upTo = (value: bigint, code?: string, scale?: number) =>
  paying({ debitAmount: amount(value, code, scale) })
const each = (interval: string, value: bigint) => paying({ debitAmount: amount(value), interval })

describe('which consent needs a fresh sign-in', () => {
  const rule = createSignInRule(parseSignInFrom('100.00 USD, 90 EUR'), DEMAND)

  it.each<readonly [string, boolean, readonly AccessItem[]]>([
    ['an amount below', false, [upTo(9_999n)]],
    ['the amount itself', true, [upTo(10_000n)]],
    ['an amount below, in another scale', false, [upTo(99_999_999n, 'USD', 6)]],
    ['the amount itself, in another scale', true, [upTo(100_000_000n, 'USD', 6)]],
    ['the amount itself, in a coarser scale', true, [upTo(100n, 'USD', 0)]],
    ['several items that reach it together', true, [upTo(5_000n), upTo(5_000n)]],
    ['a part in one asset and the rest in another', true, [upTo(5_000n), upTo(4_500n, 'EUR')]],
    ['a part in one asset and less than the rest in another', false, [upTo(5_000n), upTo(4_499n, 'EUR')]],
    [
      'what is received, where nothing else is limited',
      true,
      [paying({ receiveAmount: amount(9_000n, 'EUR') })]
    ],
    ['an asset that is not listed', true, [upTo(1n, 'GBP')]],
    ['payments without a limit', true, [paying()]],
    ['a small amount each second, without end', true, [each('R/2026-01-01T00:00:00Z/PT1S', 1n)]],
    ['a small amount each month, without end', true, [each('R-1/2026-01-01T00:00:00Z/P1M', 1n)]],
    ['a small amount each month until a day', true, [each('R/P1M/2027-01-01T00:00:00Z', 1n)]],
    ['an amount that is below it in all its intervals', false, [each('R12/2026-01-01T00:00:00Z/P1M', 833n)]],
    ['an amount that reaches it in all its intervals', true, [each('R12/2026-01-01T00:00:00Z/P1M', 834n)]],
    ['an amount in a single interval', false, [each('R1/2026-01-01T00:00:00Z/P1M', 9_999n)]],
    [
      'several items that reach it together in all their intervals',
      true,
      [each('R2/2026-01-01T00:00:00Z/P1M', 2_500n), each('R5/P1D/2026-02-01T00:00:00Z', 1_000n)]
    ],
    [
      'what is received in all intervals',
      true,
      [paying({ receiveAmount: amount(4_500n, 'EUR'), interval: 'R2/2026-01-01T00:00:00Z/P1M' })]
    ],
    ['payments limited in time alone', true, [paying({ interval: 'R/2026-01-01T00:00:00Z/P1M' })]],
    ['payments that can only be read', false, [paying(undefined, ['read', 'list'])]],
    ['nothing to pay', false, [{ type: 'quote', actions: ['create'] }]]
  ])('%s: %s', (_what, expected, access) => {
    expect(rule(access)).toEqual(expected ? DEMAND : undefined)
  })

  it('is each with always, and none without the setting', () => {
    expect(createSignInRule(parseSignInFrom('always'), DEMAND)([])).toEqual(DEMAND)
    expect(createSignInRule(parseSignInFrom(undefined), DEMAND)([paying()])).toBeUndefined()
  })

  it.each(['', '100', '100.00USD', 'USD 100', '-1 USD', '1e3 USD', '1 USD,', '01 USD', '1. USD', '1 U,SD'])(
    'refuses the setting "%s"',
    (text) => {
      expect(() => parseSignInFrom(text)).toThrow('CONSENT_SIGN_IN_FROM')
    }
  )
})

describe('a sign-in', () => {
  const NOW_MS = 1_700_000_000_000
  const problemOf = (ageSeconds: number | undefined, acr?: string, acrValues = DEMAND.acrValues) =>
    findSignInProblem(
      { authTimeMs: ageSeconds === undefined ? undefined : NOW_MS - ageSeconds * 1_000, acr },
      { ...DEMAND, acrValues },
      NOW_MS,
      5
    )

  it('may be as old as demanded, and the clocks may differ', () => {
    expect(problemOf(125, 'strong')).toBeUndefined()
    expect(problemOf(-5, 'stronger')).toBeUndefined()
    expect(problemOf(0, undefined, [])).toBeUndefined()
  })

  it.each([126, -6, undefined])('is no fresh one %s seconds ago', (ageSeconds) => {
    expect(problemOf(ageSeconds, 'strong')).toContain('auth_time')
  })

  it.each(['weak', undefined])('is not strong enough with acr %s', (acr) => {
    expect(problemOf(0, acr)).toContain('acr')
  })
})
