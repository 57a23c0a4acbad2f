import { describe, expect, it } from '@jest/globals'
import { securityFields } from './security-fields.js'

/** Where forms of the pages may lead. */
function formTargets(allowHttp: boolean): string | undefined {
  const fields = securityFields(allowHttp)
  const policy = fields[fields.indexOf('Content-Security-Policy') + 1] ?? ''
  return /form-action ([^;]*);/.exec(policy)?.[1]
}

describe('where a decision may lead', () => {
  it('is https in production, and http on the own machine alone', () => {
    expect(formTargets(false)).toBe("'self' https: http://localhost:* http://127.0.0.1:*")
  })

  it('is also http elsewhere in development', () => {
    expect(formTargets(true)).toBe(`${String(formTargets(false))} http:`)
  })
})
