import { describe, expect, it } from '@jest/globals'
import { checkFinishUri } from './request-checks.js'

describe('where the browser is sent when the interaction is over', () => {
  it.each(['https://shop.test/return', 'http://localhost:8080/', 'http://127.0.0.1/', 'http://[::1]:1/'])(
    'may be %s',
    (uri) => {
      expect(() => {
        checkFinishUri(uri, false)
      }).not.toThrow()
    }
  )

  it('is https in production, elsewhere than on the own machine', () => {
    const check = (allowHttp: boolean) => () => {
      checkFinishUri('http://shop.test/return', allowHttp)
    }
    expect(check(false)).toThrow(/interact\.finish\.uri/)
    expect(check(true)).not.toThrow()
  })
})
