import fc from 'fast-check'
import { anyText, grown, mutated, oddPiece } from './text.js'

const SCHEMES = [
  'https://',
  'https://',
  'https://',
  'https://',
  'http://',
  'http://',
  'HTTPS://',
  'https:',
  'https:/',
  'https:///',
  'https:\\\\',
  '//',
  '',
  'javascript://',
  'file://',
  'ftp://',
  'wss://',
  'data:',
  'blob:https://',
  ' https://',
  'ht\ntps://',
  'view-source:https://'
] as const

const HOSTS = [
  'wallet.example',
  'wallet.example',
  'wallet.example',
  'auth.wallet.example',
  'WALLET.Example',
  'wallet.example.',
  'localhost',
  '127.0.0.1',
  '127.1',
  '0x7f.1',
  '0177.0.0.1',
  '2130706433',
  '0',
  '0.0.0.0',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '198.18.0.1',
  '192.0.2.1',
  '224.0.0.1',
  '255.255.255.255',
  '8.8.8.8',
  '1.1.1.1',
  '999.1.1.1',
  '1.2.3.4.5',
  '[::1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:8.8.8.8]',
  '[::7f00:1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  '[fe80::1]',
  '[fe80::1%25eth0]',
  '[fc00::1]',
  '[ff02::1]',
  '[2001:db8::1]',
  '[2606:4700::1111]',
  '[2001:0:7f00::1]',
  '[::1',
  ']',
  'xn--mnchen-3ya.example',
  'm\u00fcnchen.example',
  'xn--',
  '\u2488.example',
  '\uff11\uff12\uff17.0.0.1',
  'wallet\u3002example',
  'ex%61mple',
  '%31%32%37.0.0.1',
  'a..b',
  '.',
  '..',
  '',
  '-',
  '_',
  'a_b.example',
  'wallet.example,evil.example',
  'wallet example',
  'a'.repeat(64) + '.example',
  '1e3',
  '0x'
] as const

const USERINFOS = [
  '',
  '',
  '',
  '',
  '',
  '',
  'user@',
  'user:pass@',
  ':@',
  '@',
  '%40@',
  'wallet.example@',
  'a@b@',
  'a:b:c@'
] as const
const PORTS = [
  '',
  '',
  '',
  '',
  '',
  ':443',
  ':80',
  ':0443',
  ':8443',
  ':0',
  ':65535',
  ':65536',
  ':',
  ':a',
  ':-1',
  ':22',
  ':443:443'
] as const
const PATHS = [
  '',
  '/',
  '/alice',
  '/alice',
  '/alice/',
  '/alice//',
  '//',
  '/a/b/c',
  '/.',
  '/..',
  '/../alice',
  '/a/./b',
  '/a/../b',
  '/%2e%2e/',
  '/%2E',
  '/a%2Fb',
  '/%',
  '/%zz',
  '/%00',
  '/%0d%0a',
  '/a\\b',
  '\\',
  '/a;b',
  '/a b',
  '/\u00e9',
  '/incoming-payments/1',
  '/jwks.json',
  '/.well-known/pay',
  '/:id',
  '/*'
] as const
const ENDS = [
  '',
  '',
  '',
  '',
  '?',
  '?a=b',
  '?a=b&c',
  '??',
  '?a?',
  '?a&b?',
  '?hash=x&interact_ref=y',
  '?\u00e9',
  '?a=%zz',
  '#',
  '#a',
  '?a#b',
  '?#',
  '#?',
  '?a=\n'
] as const

/** A URL of parts that are right, wrong, or read in more than one way. */
const composed = fc
  .tuple(...[SCHEMES, USERINFOS, HOSTS, PORTS, PATHS, ENDS].map((parts) => fc.constantFrom<string>(...parts)))
  .map((parts) => parts.join(''))

const proper = fc
  .tuple(
    fc.constantFrom('https', 'http'),
    fc.constantFrom('wallet.example', '127.0.0.1:3000', '[2606:4700::1111]', 'xn--mnchen-3ya.example'),
    fc.webPath(),
    fc.oneof(
      fc.constant(''),
      fc.webQueryParameters().map((query) => `?${query}`)
    )
  )
  .map(([scheme, host, path, query]) => `${scheme}://${host}${path}${query}`)

/** A URL, or what is nearly one. */
export function urls(lengthMax: number): fc.Arbitrary<string> {
  const pieces = fc.oneof(
    fc.constantFrom(
      '/',
      '//',
      '/.',
      '/..',
      './',
      '../',
      '%2e',
      '@',
      ':',
      '[',
      '.',
      'a.',
      '?',
      '&a=',
      '\\',
      'xn--a.'
    ),
    oddPiece
  )
  return fc.oneof(
    { weight: 20, arbitrary: proper },
    { weight: 40, arbitrary: composed },
    { weight: 20, arbitrary: mutated(proper) },
    { weight: 14, arbitrary: mutated(composed) },
    { weight: 3, arbitrary: anyText },
    {
      weight: 3,
      arbitrary: grown(pieces, lengthMax, fc.constantFrom('https://wallet.example/', 'https://', '/', ''))
    }
  )
}

/** A literal address, of every notation. */
export const address: fc.Arbitrary<string> = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.ipV4Extended(),
  mutated(fc.oneof(fc.ipV4(), fc.ipV6()))
)
