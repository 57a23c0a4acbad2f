import { describe, expect, it } from '@jest/globals'
import { createRolesOfMachine, findUnsafeOperators, parseOperatorIssuers } from './settings.js'

const ISSUER = {
  issuer: 'https://login.test',
  clientIds: ['console'],
  rolesClaim: 'groups',
  roles: { operator: ['operations'], approver: ['operations'] }
}

describe('OPERATOR_ISSUERS', () => {
  it('is read', () => {
    expect(parseOperatorIssuers(JSON.stringify([ISSUER]))).toEqual(
      new Map([
        [
          'https://login.test',
          {
            clientIds: ['console'],
            rolesClaim: ['groups'],
            rolesOfValue: new Map([['operations', new Set(['operator', 'approver'])]])
          }
        ]
      ])
    )
  })

  it.each([
    ['{', 'OPERATOR_ISSUERS: must be JSON'],
    ['[]', 'OPERATOR_ISSUERS: Too small'],
    [JSON.stringify([{ ...ISSUER, issuer: 'login.test' }]), 'OPERATOR_ISSUERS: 0.issuer: must be an http'],
    [JSON.stringify([{ ...ISSUER, clientIds: [] }]), 'OPERATOR_ISSUERS: 0.clientIds: '],
    [JSON.stringify([{ ...ISSUER, roles: { admin: ['x'] } }]), 'OPERATOR_ISSUERS: 0.roles: '],
    [JSON.stringify([ISSUER, ISSUER]), 'OPERATOR_ISSUERS: https://login.test is there twice'],
    [JSON.stringify([{ ...ISSUER, issuer: 'http://login.test' }]), 'OPERATOR_ISSUERS: must have https URLs']
  ])('is refused as %s', (json, problem) => {
    expect(findUnsafeOperators({ ENVIRONMENT: 'production', OPERATOR_ISSUERS: json })).toEqual([
      expect.stringContaining(problem)
    ])
  })
})

describe('OPERATOR_MACHINES', () => {
  it('gives roles to the names of certificates, whose last = counts, and whose DNS names have no case', () => {
    const rolesOf = createRolesOfMachine({
      ENVIRONMENT: 'production',
      OPERATOR_MACHINES:
        'spiffe://a.test/x=1=viewer, Night.A.test=operator+approver, core.test=operator+unattended'
    })
    expect(rolesOf(['spiffe://a.test/x=1'])).toEqual(new Set(['viewer']))
    expect(rolesOf(['other.test', 'night.a.test'])).toEqual(new Set(['operator', 'approver']))
    expect(rolesOf(['core.test'])).toEqual(new Set(['operator']))
    expect(rolesOf(['spiffe://a.test/x'])).toEqual(new Set())
    expect(rolesOf([])).toEqual(new Set())
  })

  it.each([
    'night.test',
    'night.test=',
    'night.test=admin',
    'a.test=viewer+',
    'a.test=unattended',
    'a.test=viewer,a.test=operator'
  ])('is refused as %s', (machines) => {
    expect(findUnsafeOperators({ ENVIRONMENT: 'development', OPERATOR_MACHINES: machines })).toEqual([
      expect.stringContaining('OPERATOR_MACHINES: ')
    ])
  })

  it.each(['operator', 'approver', 'viewer+operator'])(
    'is refused in production where people sign in, with a machine that may act as %s beside them',
    (roles) => {
      const people = { OPERATOR_ISSUERS: JSON.stringify([ISSUER]) }
      const machines = (given: string) => ({ OPERATOR_MACHINES: `audit.test=viewer,cli.test=${given}` })
      const inProduction = { ENVIRONMENT: 'production' } as const
      expect(findUnsafeOperators({ ...inProduction, ...people, ...machines(roles) })).toEqual([
        expect.stringMatching(
          /^OPERATOR_MACHINES: where people sign in .* cli\.test=viewer, or .* cli\.test=.*\+unattended$/
        )
      ])
      expect(findUnsafeOperators({ ...inProduction, ...people, ...machines(`${roles}+unattended`) })).toEqual(
        []
      )
      expect(findUnsafeOperators({ ...inProduction, ...people, ...machines('viewer') })).toEqual([])
      expect(findUnsafeOperators({ ...inProduction, ...machines(roles) })).toEqual([])
      expect(findUnsafeOperators({ ENVIRONMENT: 'development', ...people, ...machines(roles) })).toEqual([])
    }
  )

  it('must be set in production unless people operate', () => {
    expect(findUnsafeOperators({ ENVIRONMENT: 'production' })).toEqual([
      expect.stringContaining('OPERATOR_MACHINES: must be set in production')
    ])
    const people = JSON.stringify([ISSUER])
    expect(findUnsafeOperators({ ENVIRONMENT: 'production', OPERATOR_ISSUERS: people })).toEqual([])
    expect(findUnsafeOperators({ ENVIRONMENT: 'development' })).toEqual([])
  })
})
