import fc from 'fast-check'
import { anyText, grown, mutatedBytes, oddPiece } from './text.js'

// JSON texts, from what clients send to what only looks like JSON. A tree is kept as it is written, so that members may be
// repeated and numbers spelled in any way.

/** A JSON text in its parts. */
type Tree =
  | { readonly kind: 'object'; readonly members: readonly (readonly [name: string, value: Tree])[] }
  | { readonly kind: 'array'; readonly items: readonly Tree[] }
  /** Anything as it is written. */
  | { readonly kind: 'text'; readonly text: string }

function treeOf(value: unknown): Tree {
  if (Array.isArray(value)) return { kind: 'array', items: value.map(treeOf) }
  if (typeof value !== 'object' || value === null) return { kind: 'text', text: JSON.stringify(value) }
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return { kind: 'object', members: members.map(([name, member]) => [name, treeOf(member)]) }
}

function write(tree: Tree): string {
  switch (tree.kind) {
    case 'object':
      return `{${tree.members.map(([name, value]) => `${JSON.stringify(name)}:${write(value)}`).join(',')}}`
    case 'array':
      return `[${tree.items.map(write).join(',')}]`
    case 'text':
      return tree.text
  }
}

const NUMBERS = [
  '0',
  '-0',
  '1',
  '-1',
  '2',
  '255',
  '256',
  '1.0',
  '1.5',
  '1e2',
  '1E+2',
  '1e-7',
  '1e400',
  '-1e400',
  '5e-324',
  '1e308',
  '9007199254740993',
  '18446744073709551615',
  '18446744073709551616',
  '9'.repeat(300),
  '01',
  '+1',
  '.5',
  '1.',
  '0x1',
  'NaN',
  'Infinity',
  '1_000'
] as const

const STRINGS = [
  '',
  '0',
  '1',
  '-1',
  '00',
  '1.0',
  '1e3',
  ' 1',
  '18446744073709551615',
  '18446744073709551616',
  '9'.repeat(100),
  'USD',
  'ilp',
  'redirect',
  'create',
  'read-all',
  'quote',
  'incoming-payment',
  'outgoing-payment',
  'sha-256',
  'R/2026-01-01T00:00:00Z/P1M',
  'R0/2026-01-01T00:00:00Z/P1M',
  '2030-01-31T12:00:00Z',
  '2030-02-30T00:00:00Z',
  '0000-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999999999Z',
  '2030-01-01T24:00:00Z',
  'javascript:alert(1)',
  '//',
  '/'
] as const

/** Texts in quotes that are no good strings, or are good ones in an odd spelling. */
const QUOTED = [
  '"\\u0000"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\u005f\\u005fproto\\u005f\\u005f"',
  '"\\x41"',
  '"\\u12"',
  '"',
  '"\n"',
  "'a'",
  '"\\ud83d\\ude00"',
  '"\\/"'
] as const

/** What is taken for a text or a list by its `length`, or turned into a text, and cannot be. */
const IMMEASURABLE = [
  '{"length":{"toString":0}}',
  '{"length":1}',
  '{"toString":0,"valueOf":0}',
  '{"size":{"toString":0}}'
] as const

const OPEN = [
  '',
  ' ',
  'tru',
  'true',
  'false',
  'null',
  'undefined',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '//',
  '{,}',
  '[,]'
] as const

const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '',
  'value',
  'assetCode',
  'assetScale',
  'metadata',
  'client',
  'jwk',
  'limits',
  'interval',
  'quoteId',
  'walletAddress',
  '0',
  'length',
  'toJSON',
  'then',
  '$ref'
] as const

const name = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<string>(...NAMES) },
  { weight: 1, arbitrary: anyText }
)

const scalar: fc.Arbitrary<Tree> = fc
  .oneof(
    { weight: 3, arbitrary: fc.constantFrom<string>(...NUMBERS) },
    { weight: 3, arbitrary: fc.constantFrom<string>(...STRINGS).map((text) => JSON.stringify(text)) },
    { weight: 2, arbitrary: anyText.map((text) => JSON.stringify(text)) },
    { weight: 1, arbitrary: fc.constantFrom<string>(...QUOTED) },
    { weight: 1, arbitrary: fc.constantFrom<string>(...OPEN) },
    { weight: 1, arbitrary: fc.constantFrom<string>(...IMMEASURABLE) }
  )
  .map((text) => ({ kind: 'text', text }))

const anyTree: fc.Arbitrary<Tree> = fc.oneof(
  { weight: 6, arbitrary: scalar },
  {
    weight: 1,
    arbitrary: fc.array(scalar, { maxLength: 4 }).map((items): Tree => ({ kind: 'array', items }))
  },
  {
    weight: 1,
    arbitrary: fc
      .array(fc.tuple(name, scalar), { maxLength: 3 })
      .map((members): Tree => ({ kind: 'object', members }))
  }
)

/** What is done to one part of a tree. */
const WAYS = ['replace', 'remove', 'add', 'repeat', 'rename', 'nest', 'wrap'] as const

/** A change of one part of a tree. */
interface Edit {
  readonly way: (typeof WAYS)[number]
  /** Which part, counted around as often as need be. */
  readonly place: number
  readonly name: string
  readonly tree: Tree
  /** How deep, where the part is nested. */
  readonly depth: number
}

const edit: fc.Arbitrary<Edit> = fc.record({
  way: fc.constantFrom(...WAYS),
  place: fc.nat(1_000),
  name,
  tree: anyTree,
  depth: fc.constantFrom(1, 2, 30, 31, 32, 33, 100)
})

function countOf(tree: Tree): number {
  return 1 + childrenOf(tree).reduce((sum, child) => sum + countOf(child), 0)
}

function childrenOf(tree: Tree): readonly Tree[] {
  switch (tree.kind) {
    case 'object':
      return tree.members.map(([, value]) => value)
    case 'array':
      return tree.items
    case 'text':
      return []
  }
}

function apply(tree: Tree, change: Edit): Tree {
  return applyAt(tree, change.place % countOf(tree), change)
}

function applyAt(tree: Tree, place: number, change: Edit): Tree {
  if (place === 0) return applyHere(tree, change)
  let first = 1
  const visit = (child: Tree): Tree => {
    const within = place - first
    const count = countOf(child)
    first += count
    return within >= 0 && within < count ? applyAt(child, within, change) : child
  }
  if (tree.kind === 'array') return { ...tree, items: tree.items.map(visit) }
  if (tree.kind === 'object') {
    return { ...tree, members: tree.members.map(([memberName, value]) => [memberName, visit(value)]) }
  }
  return tree
}

function applyHere(tree: Tree, { way, place, name: given, tree: other, depth }: Edit): Tree {
  if (way === 'nest')
    return Array.from({ length: depth }).reduce<Tree>((inner) => ({ kind: 'array', items: [inner] }), other)
  if (way === 'wrap') return { kind: 'object', members: [[given, tree]] }
  if (tree.kind === 'text' || way === 'replace') return other
  if (tree.kind === 'array') {
    const at = place % (tree.items.length + 1)
    const removed = way === 'remove' ? 1 : 0
    const added = way === 'remove' ? [] : way === 'repeat' ? tree.items.slice(at, at + 1) : [other]
    return { ...tree, items: tree.items.toSpliced(at, removed, ...added) }
  }
  const at = place % (tree.members.length + 1)
  const [oldName = given, value = other] = tree.members[at] ?? []
  switch (way) {
    case 'remove':
      return { ...tree, members: tree.members.toSpliced(at, 1) }
    case 'add':
      return { ...tree, members: tree.members.toSpliced(at, 0, [given, other]) }
    case 'repeat':
      return { ...tree, members: [...tree.members, [oldName, other]] }
    case 'rename':
      return { ...tree, members: tree.members.toSpliced(at, 1, [given, value]) }
  }
}

/** A JSON text of a value, with up to three parts changed. */
export function mutatedJson(values: fc.Arbitrary<unknown>): fc.Arbitrary<string> {
  return fc
    .tuple(values, fc.array(edit, { maxLength: 3 }))
    .map(([value, edits]) => write(edits.reduce(apply, treeOf(value))))
}

/** What JSON is made of, for texts that grow. */
const jsonPiece = fc.oneof(
  fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    '[]',
    '{}',
    '{"a":',
    '[[',
    '"a":1,',
    '0,',
    '{},',
    '[],',
    '""',
    '"",',
    '"\\u0000"',
    '1e308,'
  ),
  fc.constantFrom('{"type":"quote"},', '"create",', '1', '\\', '"', ' ', '\n', '{"__proto__":'),
  oddPiece
)

/** Bytes before a JSON text: byte order marks, and white space that JSON does not have. */
const PREFIXES = ['\ufeff', '\u00a0', '\n\t ', 'while(1);'] as const

/**
 * Bodies that begin as those that clients send: proper ones, changed in their parts, in their bytes and in their encoding,
 * and as long as bodies may be.
 *
 * @param lengthMax longest that is taken, in bytes
 */
export function bodies(values: fc.Arbitrary<unknown>, lengthMax: number): fc.Arbitrary<Buffer> {
  const proper = values.map((value) => Buffer.from(JSON.stringify(value)))
  const changed = mutatedJson(values)
  const grownMember = fc
    .tuple(
      values,
      name,
      grown(jsonPiece, lengthMax - 2_000, fc.constant('')),
      fc.constantFrom('[0', '"', '', '{"a":0')
    )
    .map(([value, member, long, start]) => {
      const end = start.startsWith('[') ? ']' : start.startsWith('{') ? '}' : start
      const text = JSON.stringify(value)
      const filling =
        start === '"' ? long.replace(/["\\\p{Cc}]/gu, ' ') : `${start === '' ? '' : ','}${long}0`
      return `${text.slice(0, -1)},${JSON.stringify(member)}:${start}${filling}${end}}`
    })
  return fc.oneof(
    { weight: 20, arbitrary: proper },
    { weight: 60, arbitrary: changed.map((text) => Buffer.from(text)) },
    { weight: 8, arbitrary: mutatedBytes(proper) },
    {
      weight: 4,
      arbitrary: fc
        .tuple(fc.constantFrom(...PREFIXES), changed)
        .map(([prefix, text]) => Buffer.from(prefix + text))
    },
    { weight: 2, arbitrary: changed.map((text) => Buffer.from(text, 'utf16le')) },
    { weight: 2, arbitrary: changed.map((text) => Buffer.from(text, 'latin1')) },
    { weight: 2, arbitrary: grownMember.map((text) => Buffer.from(text).subarray(0, lengthMax + 1)) },
    { weight: 1, arbitrary: grown(jsonPiece, lengthMax).map((text) => Buffer.from(text)) }
  )
}
