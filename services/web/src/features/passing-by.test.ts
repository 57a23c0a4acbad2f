import { describe, expect, it } from '@jest/globals'
import type { Session } from '../domain/session.js'
import type { SignedIn } from '../modules/issuer/index.js'
import { demandOf, isOfOnePerson, purpose } from './passing-by.js'

const ALICE = { issuer: 'https://login.example', sub: 'alice' }
const session = (person = ALICE) => ({ ...person }) as Session
const confirmedBy = ({ issuer, sub } = ALICE) => ({ claims: { iss: issuer, sub } }) as SignedIn

describe('what somebody confirms at the issuer', () => {
  it('is for a resumption its grant and who wants it', () => {
    const wanted = { kind: 'resumption', grantId: '01985d1a-5c00-7000-8000-00000000005b', ...ALICE }
    expect(purpose.parse(wanted)).toEqual(wanted)
    expect(purpose.safeParse({ ...wanted, sub: undefined }).success).toBe(false)
  })

  it('needs a sign-in that is still fresh when the auth server looks at it', () => {
    expect(demandOf(null)).toEqual({})
    expect(demandOf({ ageMaxSeconds: 121, acrValues: [] })).toEqual({ maxAge: 60, parameters: {} })
    expect(demandOf({ ageMaxSeconds: 10, acrValues: ['strong', 'stronger'] })).toEqual({
      maxAge: 5,
      parameters: { acr_values: 'strong stronger' }
    })
  })

  it.each<[string, Session | undefined, SignedIn]>([
    ['nobody is signed in any more', undefined, confirmedBy()],
    ['another person is signed in by now', session({ ...ALICE, sub: 'bob' }), confirmedBy()],
    ['another person confirmed it', session(), confirmedBy({ ...ALICE, sub: 'bob' })],
    ['another issuer did', session(), confirmedBy({ ...ALICE, issuer: 'https://login.evil' })]
  ])('counts not when %s', (_when, who, signedIn) => {
    expect(isOfOnePerson(ALICE, session(), confirmedBy())).toBe(true)
    expect(isOfOnePerson(ALICE, who, signedIn)).toBe(false)
  })
})
