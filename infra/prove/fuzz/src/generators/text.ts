import fc from 'fast-check'

/** Cases of several kinds, by weight. */
export function mixed<Value>(
  ...kinds: readonly (readonly [weight: number, cases: fc.Arbitrary<Value>])[]
): fc.Arbitrary<Value> {
  return fc.oneof(...kinds.map(([weight, arbitrary]) => ({ weight, arbitrary })))
}

/** One of the words of a text, separated by white space. A repeated word is chosen more often. */
export function word(text: string): fc.Arbitrary<string> {
  return fc.constantFrom(...text.trim().split(/\s+/))
}

/** One of the characters of a text. */
export function characterOf(characters: string): fc.Arbitrary<string> {
  return fc.constantFrom(...Array.from(characters))
}

/** Concatenated texts. */
export function joined(...parts: fc.Arbitrary<string>[]): fc.Arbitrary<string> {
  return fc.tuple(...parts).map((texts) => texts.join(''))
}

const ODD_CHARACTERS =
  '\0\t\r\n "\\\'`<>;,:/?#&=@%+-.*~()[]{}|^$\x7f\x80\x85\xa0\xe9\u0130\u0301\u200b\u202e\u2028\u3002\ufeff\uff0f\uff10\ufffd' +
  '\u{1f600}\u{10ffff}\udfff\ud800'

const ODD_WORDS =
  '// .. %00 %0d%0a %2e%2e %2F %zz %c0%af %ff __proto__ constructor toString null undefined NaN -0 1e309 0x10 00'

/** A piece of text that parsers tend to mishandle. */
export const oddPiece: fc.Arbitrary<string> = mixed(
  [3, characterOf(ODD_CHARACTERS)],
  [2, word(ODD_WORDS)],
  [1, fc.constant('\r\n')]
)

/** Any text: letters, all of Unicode, and odd pieces. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.array(oddPiece, { maxLength: 6 }).map((pieces) => pieces.join(''))
)

/** A change of a text. */
export interface Edit {
  /** Where it begins, as a part of the text's length. */
  readonly place: number
  /** How many characters go away. */
  readonly removed: number
  readonly inserted: string
}

/** What {@link Edit.place} is counted in. */
const PLACES = 10_000

/** Up to three changes of a text. */
export function editsOf(pieces: fc.Arbitrary<string>): fc.Arbitrary<Edit[]> {
  const edit = fc.record({
    place: fc.nat(PLACES),
    removed: fc.oneof(fc.constantFrom(0, 1), fc.nat(12)),
    inserted: fc.oneof(fc.constant(''), pieces, anyText)
  })
  return fc.array(edit, { minLength: 1, maxLength: 3 })
}

/** A text with pieces of it replaced, cut out or put in. */
export function withEdits(text: string, edits: readonly Edit[]): string {
  return edits.reduce((changed, { place, removed, inserted }) => {
    const at = Math.floor((place / PLACES) * changed.length)
    return changed.slice(0, at) + inserted + changed.slice(at + removed)
  }, text)
}

/** A text with up to three pieces of it changed. */
export function mutated(texts: fc.Arbitrary<string>, pieces = oddPiece): fc.Arbitrary<string> {
  return fc.tuple(texts, editsOf(pieces)).map(([text, edits]) => withEdits(text, edits))
}

/**
 * A text of a few pieces, repeated up to about the maximum length between two others: it shows processing time that grows
 * faster than the length.
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

/**
 * Valid texts, valid texts with changed pieces, any others, and some of maximum length.
 *
 * @param lengthMax maximum length that is accepted, in characters
 * @param pieces pieces of such texts; odd pieces are added
 * @param around beginning and end of a long text
 */
export function attempts(
  proper: fc.Arbitrary<string>,
  lengthMax: number,
  pieces = oddPiece,
  around?: fc.Arbitrary<string>
): fc.Arbitrary<string> {
  const piece = fc.oneof(pieces, oddPiece)
  return mixed([12, proper], [8, mutated(proper, piece)], [1, anyText], [1, grown(piece, lengthMax, around)])
}
