import fc from 'fast-check'

/** Cases of several kinds, each as often as its weight says. */
export function mixed<Value>(
  ...kinds: readonly (readonly [weight: number, cases: fc.Arbitrary<Value>])[]
): fc.Arbitrary<Value> {
  return fc.oneof(...kinds.map(([weight, arbitrary]) => ({ weight, arbitrary })))
}

/** One of the words of a text, with white space between them. One that stands there twice comes twice as often. */
export function word(text: string): fc.Arbitrary<string> {
  return fc.constantFrom(...text.trim().split(/\s+/))
}

/** One of the characters of a text. */
export function characterOf(characters: string): fc.Arbitrary<string> {
  return fc.constantFrom(...Array.from(characters))
}

/** Texts of one after another. */
export function joined(...parts: fc.Arbitrary<string>[]): fc.Arbitrary<string> {
  return fc.tuple(...parts).map((texts) => texts.join(''))
}

const ODD_CHARACTERS =
  '\0\t\r\n "\\\'`<>;,:/?#&=@%+-.*~()[]{}|^$\x7f\x80\x85\xa0\xe9\u0130\u0301\u200b\u202e\u2028\u3002\ufeff\uff0f\uff10\ufffd' +
  '\u{1f600}\u{10ffff}\udfff\ud800'

const ODD_WORDS =
  '// .. %00 %0d%0a %2e%2e %2F %zz %c0%af %ff __proto__ constructor toString null undefined NaN -0 1e309 0x10 00'

/** A piece of text that parsers stumble over. */
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

/**
 * Proper texts, proper ones with pieces changed, any others, and some that are as long as may be.
 *
 * @param lengthMax longest that is taken, in characters
 * @param pieces what such texts are made of; odd pieces come besides
 * @param around what a long text begins and ends with
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
