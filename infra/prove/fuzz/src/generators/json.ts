import fc from 'fast-check'
import { anyText, characterOf, grown, joined, mixed, mutated, oddPiece, word } from './text.js'

// JSON texts, from those that clients send to texts that only look like JSON: odd spellings of numbers and strings, repeated members.

const NAMES = `__proto__ constructor prototype toString hasOwnProperty value assetCode assetScale metadata client jwk limits
  interval quoteId walletAddress reason 0 length toJSON then $ref`
const NUMBERS = `0 -0 1 -1 2 255 256 1.0 1.5 1e2 1E+2 1e-7 1e400 -1e400 5e-324 1e308 9007199254740993 18446744073709551615
  18446744073709551616 ${'9'.repeat(300)} 01 +1 .5 1. 0x1 NaN Infinity 1_000`
const TEXTS = `0 1 -1 00 1.0 1e3 18446744073709551615 18446744073709551616 ${'9'.repeat(100)} ${'x'.repeat(600)} USD ilp redirect
  create read-all quote incoming-payment outgoing-payment sha-256 R/2026-01-01T00:00:00Z/P1M R0/2026-01-01T00:00:00Z/P1M
  2030-01-31T12:00:00Z 2030-02-30T00:00:00Z 0000-01-01T00:00:00Z 9999-12-31T23:59:59.999999999Z 2030-01-01T24:00:00Z
  javascript:alert(1) // /`
/** Malformed strings, strings in an unusual spelling, and things that are no value. */
const ODD = String.raw`"" "\u0000" "\ud800" "\udc00\ud800" "\u005f\u005fproto\u005f\u005f" "\x41" "\u12" " 'a' "\ud83d\ude00" "\/"
  tru true false null undefined { } [ ] , : // {,} [,]`
/** Objects that look like a string or a list by their `length`, or cannot be converted to a string. */
const IMMEASURABLE =
  '{"length":{"toString":0}} {"length":1} {"toString":0,"valueOf":0} {"size":{"toString":0}}'

const name = mixed([4, word(NAMES)], [1, anyText])
const text = mixed([3, word(TEXTS)], [2, anyText]).map((one) => JSON.stringify(one))
const scalar = mixed([3, word(NUMBERS)], [5, text], [2, word(ODD)], [1, word(IMMEASURABLE)])
const json = mixed(
  [6, scalar],
  [1, fc.array(scalar, { maxLength: 4 }).map((items) => `[${items.join()}]`)],
  [1, fc.tuple(name, scalar).map(([member, value]) => `{${JSON.stringify(member)}:${value}}`)],
  [1, fc.constantFrom(1, 2, 30, 31, 32, 33, 100).map((depth) => '['.repeat(depth) + ']'.repeat(depth))]
)

/** A change of one part of a value. */
interface Edit {
  readonly way: 'replace' | 'remove' | 'add' | 'repeat' | 'rename' | 'wrap'
  /** Which part, and which of its members, modulo their number. */
  readonly place: number
  readonly name: string
  /** What is put in, as it is written. */
  readonly json: string
}

const ways = fc.constantFrom<Edit['way'][]>('replace', 'remove', 'add', 'repeat', 'rename', 'wrap')
const edit: fc.Arbitrary<Edit> = fc.record({ way: ways, place: fc.nat(10_000), name, json })

/** Puts a text where a value is. */
type Mark = (text: string) => string

/** Writes a value with parts of it changed. Inserted text is represented by a mark first, because it need not be JSON. */
function writeChanged([value, edits]: readonly [unknown, readonly Edit[]]): string {
  let count = 0
  JSON.stringify(value, (_, part: unknown) => ((count += 1), part))
  let visited = 0
  const written: string[] = []
  const mark: Mark = (one) => `<mark ${String(written.push(one) - 1)}>`
  const marked = JSON.stringify(value, (_, part: unknown) => {
    const found = edits.find(({ place }) => place % count === visited)
    visited += 1
    return found === undefined ? part : changed(part, found, Math.floor(found.place / count), mark)
  }) as string | undefined
  return (marked ?? '').replace(/"<mark (\d+)>"/g, (_, index) => written[Number(index)] ?? '')
}

function changed(part: unknown, { way, name: given, json: other }: Edit, place: number, mark: Mark) {
  if (way === 'wrap') return { [given]: part }
  if (typeof part !== 'object' || part === null || way === 'replace') return mark(other)
  const members = Object.entries(part) as [string, unknown][]
  const at = place % (members.length + 1)
  const [oldName, value] = members[at] ?? [given, mark(other)]
  if (way === 'remove') members.splice(at, 1)
  if (way === 'add') members.splice(at, 0, [given, mark(other)])
  if (way === 'rename') members.splice(at, 1, [given, value])
  if (way === 'repeat')
    members.push(Array.isArray(part) ? ['', value] : [mark(JSON.stringify(oldName)), mark(other)])
  return Array.isArray(part) ? members.map(([, item]) => item) : Object.fromEntries(members)
}

/** Pieces of JSON, for long texts. */
const PIECES = String.raw`{ } [ ] [] {} {"a": [[ "a":1, 0, {}, [], "" "", "\u0000" 1e308, {"type":"quote"}, "create", 1 \ " {"__proto__":`
const jsonPiece = fc.oneof(word(PIECES), oddPiece)
/** Values of maximum length: their beginning, the repeated part, and their end. */
const LONG = [
  ...[['[', '0,', '0]'] as const, ['[', '1e308,', '0]'] as const, ['[', '{},', '0]'] as const],
  ...[['{', '"a":0,', '"a":0}'] as const, ['"', ' ', '"'] as const, ['', '1', ''] as const]
]

function longValue(lengthMax: number): fc.Arbitrary<string> {
  const times = (length: number): number => Math.floor(lengthMax / length)
  return fc.oneof(
    fc.constantFrom(...LONG).map(([start, piece, end]) => start + piece.repeat(times(piece.length)) + end),
    fc.constantFrom(['[', ']'], ['{"a":', '}']).map(([open = '', close = '']) => {
      const depth = times(open.length + close.length)
      return `${open.repeat(depth)}0${close.repeat(depth)}`
    }),
    grown(jsonPiece, lengthMax)
  )
}

/** Bytes as characters: each is one. */
const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1')

/**
 * Bodies made from those that clients send: valid ones, with changed parts, bytes or encoding, and bodies of maximum length.
 *
 * @param lengthMax maximum length that is accepted, in bytes
 */
export function bodies(values: fc.Arbitrary<unknown>, lengthMax: number): fc.Arbitrary<Buffer> {
  const proper = values.map((value) => JSON.stringify(value))
  const changedTexts = fc.tuple(values, fc.array(edit, { maxLength: 3 })).map(writeChanged)
  const long = fc.tuple(proper, name, longValue(lengthMax - 2_000)).map(([text, member, value]) => {
    const body = Buffer.from(`${text.slice(0, -1)},${JSON.stringify(member)}:${value}}`)
    return body.subarray(0, lengthMax + 1)
  })
  const prefixed = joined(fc.constantFrom('\ufeff', '\u00a0', '\n\t ', 'while(1);'), changedTexts)
  return mixed(
    [20, proper.map((text) => Buffer.from(text))],
    [60, changedTexts.map((text) => Buffer.from(text))],
    [
      8,
      mutated(
        proper.map((text) => Buffer.from(text).toString('latin1')),
        characterOf('\0\x7f\x80\xff')
      ).map(bytesOf)
    ],
    [4, prefixed.map((text) => Buffer.from(text))],
    [2, changedTexts.map((text) => Buffer.from(text, 'utf16le'))],
    [2, changedTexts.map(bytesOf)],
    [3, long],
    [1, grown(jsonPiece, lengthMax).map((text) => Buffer.from(text))]
  )
}
