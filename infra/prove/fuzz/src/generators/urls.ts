import fc from 'fast-check'
import { attempts, joined, mixed, mutated, word } from './text.js'

// URLs of parts that are valid, invalid, or ambiguous.

const nothing = fc.constant('')
const odd = {
  scheme:
    'https: https:/ https:/// https:\\\\ // javascript:// file:// ftp:// wss:// data: blob:https:// view-source:https://',
  ipv4: `127.0.0.1 127.1 0x7f.1 0177.0.0.1 2130706433 0 0.0.0.0 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1
    198.18.0.1 192.0.2.1 224.0.0.1 255.255.255.255 8.8.8.8 1.1.1.1 999.1.1.1 1.2.3.4.5 1e3 0x`,
  ipv6: `[::1] [::] [::ffff:127.0.0.1] [::ffff:8.8.8.8] [::7f00:1] [64:ff9b::7f00:1] [2002:7f00:1::] [fe80::1] [fe80::1%25eth0]
    [fc00::1] [ff02::1] [2001:db8::1] [2606:4700::1111] [2001:0:7f00::1] [::1 ]`,
  name: `xn--mnchen-3ya.example m\u00fcnchen.example xn-- \u2488.example \uff11\uff12\uff17.0.0.1 wallet\u3002example ex%61mple
    %31%32%37.0.0.1 a..b . .. - _ a_b.example wallet.example,evil.example ${'a'.repeat(64)}.example`,
  userinfo: 'user@ user:pass@ :@ @ %40@ wallet.example@ a@b@ a:b:c@',
  port: ':80 :0443 :8443 :0 :65535 :65536 : :a :-1 :22 :443:443',
  path: `/. /.. /../alice /a/./b /a/../b /%2e%2e/ /%2E /a%2Fb /% /%zz /%00 /%0d%0a /a\\b \\ /a;b /\u00e9 /:id /* // /alice//`,
  end: '? ?a=b ?a=b&c ?? ?a? ?a&b? ?hash=x&interact_ref=y ?\u00e9 ?a=%zz # #a ?a#b ?# #?'
}
/** A part of a URL: normal, odd, or absent. */
function part(good: string, odd: string, weights: readonly [good: number, odd: number, absent: number]) {
  return mixed(
    [weights[0], word(good)],
    [weights[1], word(odd)],
    [weights[2], fc.constantFrom('', ' ', '\n')]
  )
}

const known = 'wallet.example wallet.example auth.wallet.example WALLET.Example wallet.example. localhost'
const host = part(known, [odd.ipv4, odd.ipv6, odd.name].join(' '), [6, 7, 1])
const composed = joined(
  part('https:// https:// http:// HTTPS://', odd.scheme, [6, 1, 1]),
  mixed([3, nothing], [1, word(odd.userinfo)]),
  host,
  mixed([3, nothing], [1, word(':443')], [1, word(odd.port)]),
  part('/ /alice /alice/ /a/b/c /incoming-payments/1 /jwks.json', odd.path, [4, 2, 1]),
  mixed([2, nothing], [2, word(odd.end)])
)
const authorities = 'wallet.example 127.0.0.1:3000 [2606:4700::1111] xn--mnchen-3ya.example'
const proper = fc.oneof(
  fc.webUrl({ withQueryParameters: true }),
  joined(word('https:// http://'), word(authorities), fc.webPath(), fc.constantFrom('', '?a=1', '?a=b&c'))
)

/** URLs, and texts that are nearly URLs. */
export function urls(lengthMax: number): fc.Arbitrary<string> {
  const pieces = word('/ // /. /.. ./ ../ %2e @ : [ . a. ? &a= \\ xn--a.')
  const around = fc.constantFrom('https://wallet.example/', 'https://', '/', '')
  return attempts(mixed([1, proper], [2, composed]), lengthMax, pieces, around)
}

/** A literal address, of every notation. */
export const address: fc.Arbitrary<string> = fc.oneof(
  ...[fc.ipV4(), fc.ipV6(), fc.ipV4Extended(), host],
  mutated(fc.oneof(fc.ipV4(), fc.ipV6()))
)
