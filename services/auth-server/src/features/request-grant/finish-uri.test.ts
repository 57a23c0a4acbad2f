import { describe, expect, it } from '@jest/globals'
import { checkFinishUri } from './request-checks.js'
import { grantRequestSchema } from './request.js'

const requestOf = (uri: string) => ({
  client: 'https://shop.test',
  access_token: { access: [{ type: 'quote', actions: ['create'] }] },
  interact: { start: ['redirect'], finish: { method: 'redirect', uri, nonce: 'nonce' } }
})

describe('where the browser is sent when the interaction is over', () => {
  it.each([
    'https://shop.test/return',
    'https://shop.test',
    'https://shop.test?a=b',
    'https://Shop.test:8443/a%20b/?next=/x@y:z&list[]=1&flag&sig=~x(1)*',
    'http://localhost:8080/',
    'http://127.0.0.1/',
    'http://127.255.255.254/',
    'http://[::1]:1/'
  ])('may be %s', (uri) => {
    const { interact } = grantRequestSchema.parse(requestOf(uri))
    expect(interact?.finish?.uri).toBe(uri)
    expect(() => {
      checkFinishUri(uri, false)
    }).not.toThrow()
  })

  it.each([
    'http://shop.test/return',
    'http://localhost.shop.test/',
    'http://localhost./',
    'http://127.0.0.1.shop.test/',
    'http://128.0.0.1/',
    'http://[::ffff:7f00:1]/',
    'http://0.0.0.0/'
  ])('is https in production, elsewhere than on the own machine: not %s', (uri) => {
    expect(grantRequestSchema.safeParse(requestOf(uri)).success).toBe(true)
    const check = (allowHttp: boolean) => () => {
      checkFinishUri(uri, allowHttp)
    }
    expect(check(false)).toThrow(/interact\.finish\.uri/)
    expect(check(true)).not.toThrow()
  })

  it.each([
    ['a fragment', 'https://shop.test/#'],
    ['credentials', 'https://me:pass@shop.test/'],
    ['empty credentials', 'https://@shop.test/'],
    ['no authority, which browsers take for a path of this server', 'https:shop.test/'],
    ['one slash', 'https:/shop.test/'],
    ['three slashes', 'https:///shop.test/'],
    ['backslashes, which some take for slashes', 'https://shop.test\\@evil.test/'],
    ['only backslashes', 'https:\\\\shop.test/'],
    ['a percent sign that begins nothing', 'https://shop.test/?a=100%'],
    ['a host in percent-encoding', 'http://%6cocalhost/'],
    ['a host as a number', 'http://2130706433/'],
    ['a host in hexadecimal', 'http://0x7f.1/'],
    ['a host that is cut short', 'http://127.1/'],
    ['an address in full that has a short form', 'http://[0:0:0:0:0:0:0:1]/'],
    ['a character that is none of an address', 'https://shop.test/<script>'],
    ['a line break', 'https://shop.test/\r\nSet-Cookie: a=b'],
    ['a letter beyond ASCII', 'https://shöp.test/'],
    ['a scheme in capitals', 'HTTPS://shop.test/'],
    ['another scheme', 'javascript:alert(1)'],
    ['a scheme of an app', 'shop://return'],
    ['no scheme', '//shop.test/'],
    ['a port that is none', 'https://shop.test:99999/'],
    ['too much', `https://shop.test/${'a'.repeat(2048)}`]
  ])('has not %s', (_what, uri) => {
    const parsed = grantRequestSchema.safeParse(requestOf(uri))
    expect(parsed.error?.issues.map(({ path }) => path.join('.'))).toContain('interact.finish.uri')
  })
})
