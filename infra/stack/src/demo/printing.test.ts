import { describe, expect, it } from '@jest/globals'
import { readableJson, withoutSecrets } from './printing.js'

const token = 'x'.repeat(43)
const page = 'y'.repeat(43)

describe('what the demo shows', () => {
  it('truncates tokens, references and shared secrets, and shows amounts and the consent URL in full', () => {
    const shown = withoutSecrets({
      access_token: { value: token, manage: 'https://auth.example/token/1' },
      continue: { access_token: { value: token } },
      interact: { redirect: `https://auth.example/interact/1/${page}?a=b` },
      methods: [{ type: 'ilp', sharedSecret: token }],
      interact_ref: token,
      finishCode: token,
      callback: `http://localhost/?interact_ref=${token}`,
      debitAmount: { value: '1000', assetCode: 'USD', assetScale: 2 }
    })
    expect(JSON.stringify(shown)).not.toContain(token)
    expect(shown).toMatchObject({
      access_token: { value: 'xxxxxxxx…', manage: 'https://auth.example/token/1' },
      interact: { redirect: `https://auth.example/interact/1/${page}?a=b` },
      callback: 'http://localhost/?interact_ref=xxxxxxxx…',
      debitAmount: { value: '1000' }
    })
  })

  it('is JSON, with short things on one line', () => {
    const value = {
      a: { value: '1', list: [1, 2] },
      b: Array.from({ length: 30 }, (_, index) => `item ${index}`),
      c: []
    }
    const text = readableJson(value)
    expect(JSON.parse(text)).toEqual(value)
    expect(text).toContain('"a": { "value": "1", "list": [ 1, 2 ] },\n')
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100)
  })
})
