import { describe, expect, it } from '@jest/globals'
import { type ContinuationDecision, type ContinuedGrant, decideContinuation } from './continuation.js'
import type { GrantState } from './grants.js'

const NOW_MS = Date.parse('2026-11-21T12:00:00Z')
const RIGHT = { isRight: true }
const WRONG = { isRight: false }
const NONE = undefined

function grantOf(changed: Partial<ContinuedGrant>): ContinuedGrant {
  return {
    id: '0190a8b1-0000-7000-8000-000000000001',
    state: 'pending',
    holder: { walletAddress: 'https://shop.test', jwkThumbprint: undefined, keyId: 'key', keyX: 'x' },
    access: [],
    subject: undefined,
    hasFinish: true,
    continueAfterMs: NOW_MS,
    rejectionReason: undefined,
    continueBeforeMs: NOW_MS + 1,
    interaction: { reference: 'reference', expiresAtMs: NOW_MS + 1 },
    clientFrozen: false,
    continuationToken: 'token',
    ...changed
  }
}

describe('a continuation', () => {
  it.each<[GrantState, boolean, { isRight: boolean } | undefined, ContinuationDecision]>([
    ['pending', true, NONE, 'unfinished'],
    ['pending', true, RIGHT, 'unfinished'],
    ['pending', true, WRONG, 'wrong-reference'],
    ['pending', false, NONE, 'wait'],
    ['pending', false, WRONG, 'wrong-reference'],
    ['approved', true, NONE, 'reference-missing'],
    ['approved', true, RIGHT, 'issue'],
    ['approved', true, WRONG, 'wrong-reference'],
    ['approved', false, NONE, 'issue'],
    ['approved', false, WRONG, 'wrong-reference'],
    ['issued', true, RIGHT, 'over'],
    ['issued', false, NONE, 'over'],
    ['revoked', true, RIGHT, 'over'],
    ['revoked', true, WRONG, 'over'],
    ['rejected', true, RIGHT, 'rejected'],
    ['rejected', false, NONE, 'rejected']
  ])('of a grant that is %s, finish %p, reference %j: %s', (state, hasFinish, reference, expected) => {
    expect(decideContinuation(grantOf({ state, hasFinish }), reference, NOW_MS)).toBe(expected)
  })

  it.each<[GrantState, ContinuationDecision]>([
    ['pending', 'too-fast'],
    ['approved', 'too-fast'],
    ['issued', 'over'],
    ['revoked', 'over'],
    ['rejected', 'rejected']
  ])('before its wait is over, of a grant that is %s: %s', (state, expected) => {
    const grant = grantOf({ state, continueAfterMs: NOW_MS + 1 })
    expect(decideContinuation(grant, RIGHT, NOW_MS)).toBe(expected)
  })

  it.each<[GrantState, ContinuationDecision]>([
    ['pending', 'expired'],
    ['approved', 'issue']
  ])('after the interaction expired, of a grant that is %s: %s', (state, expected) => {
    const interaction = { reference: 'reference', expiresAtMs: NOW_MS }
    const continueBeforeMs = NOW_MS + 1
    expect(decideContinuation(grantOf({ state, interaction, continueBeforeMs }), RIGHT, NOW_MS)).toBe(
      expected
    )
  })

  it.each<[GrantState, { isRight: boolean }, ContinuationDecision]>([
    ['pending', RIGHT, 'unfinished'],
    ['approved', RIGHT, 'too-late'],
    ['approved', WRONG, 'wrong-reference'],
    ['issued', RIGHT, 'over'],
    ['rejected', RIGHT, 'rejected']
  ])(
    'after an approval had to be continued, of a grant that is %s, reference %j: %s',
    (state, reference, expected) => {
      const grant = grantOf({ state, continueBeforeMs: NOW_MS })
      expect(decideContinuation(grant, reference, NOW_MS)).toBe(expected)
    }
  )
})
