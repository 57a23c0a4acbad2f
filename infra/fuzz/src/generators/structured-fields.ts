import fc from 'fast-check'
import { anyText, oddPiece } from './text.js'

// Texts of structured fields (RFC 9651): of every type, at every edge, and what is nearly one.

const integer = fc.oneof(
  fc.integer().map(String),
  fc.constantFrom(
    '0',
    '-0',
    '00',
    '999999999999999',
    '-999999999999999',
    '1000000000000000',
    '9'.repeat(40),
    '-',
    '+1'
  )
)

const decimal = fc.oneof(
  fc.tuple(fc.nat(), fc.nat(999)).map(([whole, part]) => `${String(whole)}.${String(part)}`),
  fc.constantFrom('0.0', '-0.0', '1.', '.5', '1.0000', '999999999999.999', '1000000000000.0', '1e3', '0.000')
)

const quoted = anyText.map((text) => `"${text}"`)

const properString = fc
  .string({ maxLength: 12 })
  .map((text) => `"${text.replace(/["\\]/g, (character) => `\\${character}`)}"`)

const token = fc.oneof(
  fc.constantFrom('a', 'A', '*', 'a/b', 'a:b', 'gnap', 'ed25519', 'sha-256', "a!#$%&'*+-.^_`|~"),
  anyText
)

const byteSequence = fc.oneof(
  fc.uint8Array({ maxLength: 70 }).map((bytes) => `:${Buffer.from(bytes).toString('base64')}:`),
  fc.constantFrom(':', '::', ':=:', ':a:', ':====:', ':AAAA', ':AA AA:', ':AAA_:', ':AAAB==:'),
  anyText.map((text) => `:${text}:`)
)

const date = fc.oneof(
  fc.integer().map((seconds) => `@${String(seconds)}`),
  fc.constantFrom('@', '@-', '@0', '@-0', '@1.5', '@999999999999999', '@-999999999999999', '@8640000000001')
)

const displayString = fc.oneof(
  fc.constantFrom(
    '%""',
    '%"a"',
    '%"%c3%a9"',
    '%"%C3%A9"',
    '%"%ff"',
    '%"%f0%9f%98%80"',
    '%"%0a"',
    '%"',
    '%a',
    '%"%"'
  ),
  anyText.map((text) => `%"${text}"`)
)

/** An item without parameters (RFC 9651 §3.3). */
export const bareItem: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: properString },
  { weight: 3, arbitrary: integer },
  ...[
    decimal,
    quoted,
    token,
    byteSequence,
    date,
    displayString,
    fc.constantFrom('?0', '?1', '?', '?2', '?true')
  ].map((arbitrary) => ({ weight: 1, arbitrary }))
)

/** A key of a dictionary or of parameters (RFC 9651 §3.2), most often a proper one. */
export const key: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom('sig1', 'sig2', 'a', 'sha-256', 'sha-512', '*', '*a', 'a_b-c.d*', 'x9')
  },
  { weight: 1, arbitrary: fc.constantFrom('__proto__', 'constructor', '', 'A', '9a', '-a', 'a'.repeat(300)) },
  { weight: 1, arbitrary: anyText }
)

/** Parameters (RFC 9651 §3.1.2), each `;key=value` or `;key`. */
export const parameters: fc.Arbitrary<string> = fc
  .array(fc.tuple(key, fc.option(bareItem, { freq: 4 }), fc.constantFrom('', '', '', ' ', '  ', '\t')), {
    maxLength: 3
  })
  .map((some) =>
    some.map(([name, value, space]) => `;${space}${name}${value === null ? '' : `=${value}`}`).join('')
  )

/** An inner list (RFC 9651 §3.1.1); at times one in another, which there is not. */
const innerList = fc
  .tuple(
    fc.array(fc.oneof(bareItem, fc.constant('(a)')), { maxLength: 4 }),
    fc.constantFrom(' ', ' ', '  ', '', ',')
  )
  .map(([items, between]) => `(${items.join(between)})`)

/** A dictionary (RFC 9651 §3.2) of anything. */
export const dictionary: fc.Arbitrary<string> = fc
  .array(fc.tuple(key, fc.oneof(bareItem, innerList), parameters), { maxLength: 3 })
  .map((members) => members.map(([name, value, more]) => `${name}=${value}${more}`).join(', '))

/** What a structured field is made of, for texts that grow. */
export const fieldPiece: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '(',
    ')',
    '"',
    '\\',
    '\\"',
    ';',
    ';a',
    ';a=1',
    ',',
    ', ',
    'a=1,',
    'a,',
    ':',
    ':AAAA:',
    '"a" ',
    ' '
  ),
  fc.constantFrom('\t', '9', '?1', '@1', '%"', '%ff', '=', '-', '.', '*', '("a"),', 'sig1=("@method"),'),
  oddPiece
)
