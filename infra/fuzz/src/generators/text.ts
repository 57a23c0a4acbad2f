import fc from 'fast-check'

/** Pieces of text that parsers stumble over. */
const ODD_PIECES = [
  '\u0000',
  '\r',
  '\n',
  '\r\n',
  '\t',
  ' ',
  '"',
  '\\',
  "'",
  '`',
  '<',
  '>',
  ';',
  ',',
  ':',
  '/',
  '//',
  '?',
  '#',
  '&',
  '=',
  '@',
  '%',
  '%00',
  '%0d%0a',
  '%2e%2e',
  '%2F',
  '%zz',
  '%c0%af',
  '%ff',
  '+',
  '-',
  '.',
  '..',
  '*',
  '~',
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  '|',
  '^',
  '$',
  '\u007f',
  '\u0080',
  '\u0085',
  '\u00a0',
  '\u00e9',
  '\u0130',
  '\u0301',
  '\u200b',
  '\u202e',
  '\u2028',
  '\u3002',
  '\ufeff',
  '\uff0f',
  '\uff10',
  '\ufffd',
  '\ud800',
  '\udfff',
  '\u{1f600}',
  '\u{10ffff}',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'undefined',
  'NaN',
  '-0',
  '1e309',
  '0x10',
  '00'
] as const

/** A piece of text that parsers stumble over. */
export const oddPiece: fc.Arbitrary<string> = fc.constantFrom(...ODD_PIECES)

/** One of the characters of a text. */
export function characterOf(characters: string): fc.Arbitrary<string> {
  return fc.constantFrom(...Array.from(characters))
}

/** Any text: letters, all of Unicode, and odd pieces. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.array(oddPiece, { maxLength: 6 }).map((pieces) => pieces.join(''))
)

/** A change of a text or of bytes, at a place told as a part of its length. */
interface Edit<Content> {
  readonly place: number
  /** How much goes away. */
  readonly removed: number
  readonly inserted: Content
}

/** What {@link Edit.place} is counted in. */
const PLACES = 10_000
const REMOVED_MAX = 12

function edits<Content>(inserted: fc.Arbitrary<Content>): fc.Arbitrary<Edit<Content>[]> {
  const edit = fc.record({
    place: fc.nat(PLACES),
    removed: fc.oneof(fc.constant(0), fc.constant(1), fc.nat(REMOVED_MAX)),
    inserted
  })
  return fc.array(edit, { minLength: 1, maxLength: 3 })
}

/** A text with up to three pieces of it replaced, cut out or put in. */
export function mutated(
  texts: fc.Arbitrary<string>,
  pieces: fc.Arbitrary<string> = oddPiece
): fc.Arbitrary<string> {
  const inserted = fc.oneof(fc.constant(''), pieces, anyText)
  return fc.tuple(texts, edits(inserted)).map(([text, changes]) =>
    changes.reduce((changed, { place, removed, inserted: piece }) => {
      const at = Math.floor((place / PLACES) * changed.length)
      return changed.slice(0, at) + piece + changed.slice(at + removed)
    }, text)
  )
}

/** Bytes with up to three places replaced, cut out or put in. */
export function mutatedBytes(contents: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Buffer> {
  return fc.tuple(contents, edits(fc.uint8Array({ maxLength: 4 }))).map(([content, changes]) =>
    changes.reduce((changed, { place, removed, inserted }) => {
      const at = Math.floor((place / PLACES) * changed.length)
      return Buffer.concat([changed.subarray(0, at), inserted, changed.subarray(at + removed)])
    }, Buffer.from(content))
  )
}

/**
 * A text of a few pieces that is repeated until it is as long as may be, or about so, between two others: what takes a
 * time that grows faster than its length shows here.
 */
export function grown(
  pieces: fc.Arbitrary<string>,
  lengthMax: number,
  around: fc.Arbitrary<string> = pieces
): fc.Arbitrary<string> {
  const unit = fc.array(pieces, { minLength: 1, maxLength: 3 }).map((some) => some.join('') || ' ')
  const length = fc.constantFrom(lengthMax, lengthMax - 1, lengthMax + 1, Math.floor(lengthMax / 2))
  return fc.tuple(around, unit, around, length).map(([before, repeated, after, wanted]) => {
    const room = Math.max(0, wanted - before.length - after.length)
    return before + repeated.repeat(Math.ceil(room / repeated.length)).slice(0, room) + after
  })
}
