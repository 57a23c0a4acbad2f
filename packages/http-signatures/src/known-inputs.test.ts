import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { type InnerList, parseDictionary, serializeInnerList } from 'structured-headers'
import { type InputHeader, KnownInputs } from './known-inputs.js'

/** Reads a header with the library alone; undefined for what is not one list of plain names. */
function parsed(header: string): InputHeader | undefined {
  try {
    const [[label, member] = [], ...others] = [...parseDictionary(header)]
    const [items, parameters] = member as InnerList
    const isPlain = items.every(([name, own]) => /^@?[a-z-]+$/.test(String(name)) && own.size === 0)
    if (label === undefined || others.length > 0 || !isPlain) return undefined
    const serializedInput = serializeInnerList([items, parameters])
    const created = parameters.get('created')
    parameters.delete('created')
    const components = items.map(([name]) => String(name))
    return { label, components, parameters, created, serializedInput }
  } catch {
    return undefined
  }
}

/** What is found for one header after another was learned. */
function found(learned: string, asked: string): InputHeader | undefined {
  const known = new KnownInputs()
  const input = parsed(learned)
  if (input !== undefined) known.learn(learned, input)
  return known.find(asked)
}

const usual = (created: number | string): string =>
  `sig1=("@method" "@target-uri" "authorization");created=${String(created)};keyid="key-1"`

describe('a header that was read before', () => {
  it('is known with any other time', () => {
    for (const created of [0, 7, 1_795_322_794, 999_999_999_999_999]) {
      expect(found(usual(1_795_322_793), usual(created))).toEqual(parsed(usual(created)))
    }
  })

  it.each([
    ['another key', usual(1).replace('key-1', 'key-2')],
    ['another label', usual(1).replace('sig1', 'sig2')],
    ['another component', usual(1).replace('authorization', 'date')],
    ['other spaces', usual(1).replace(';keyid', '; keyid')],
    ['a negative time', usual(-1)],
    ['a time that is no integer', usual('1.5')],
    ['a time that is written with a zero before it', usual('01')],
    ['more digits than an integer has', usual('1'.repeat(16))],
    ['no digits', usual('')],
    ['another signature behind it', `${usual(1)}, ${usual(1)}`],
    ['too many characters', usual(1).replace('key-1', 'k'.repeat(600))]
  ])('is not known with %s', (_what, asked) => {
    expect(found(usual(1), asked)).toBeUndefined()
  })

  it.each([
    ['its time is not the first of its parameters', 'sig1=("@method");keyid="k";created=1'],
    ['it has two times', 'sig1=("@method");created=1;created=1'],
    ['what looks like a time stands in a text', 'sig1=("@method");keyid="");created=1"'],
    ['its components are written with other spaces', 'sig1=( "@method");created=1'],
    ['it has a nonce', 'sig1=("@method");created=1;nonce="n"'],
    ['it expires', 'sig1=("@method");created=1;expires=2']
  ])('is not learned when %s', (_what, header) => {
    expect(found(header, header)).toBeUndefined()
  })

  it('is never taken for what it is not', () => {
    const piece = fc.constantFrom(
      ...['sig1=', 'a=', '(', ')', '"@method"', '"', '\\', ' ', ';', ',', 'created=', ');created=', '"date"'],
      ...['keyid="k"', ';keyid="k"', ';created=1', '("@method")', '();created=', '-', '.', '0', '1', '15']
    )
    const text = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''))
    const start = fc.oneof(
      fc.constantFrom('sig1=("@method");created=', 'sig1=();created=', 'a=("date" "x");created='),
      text
    )
    const digits = fc.oneof(fc.nat(), text)
    fc.assert(
      fc.property(start, digits, digits, text, (before, one, other, after) => {
        const asked = `${before}${String(other)}${after}`
        const input = found(`${before}${String(one)}${after}`, asked)
        if (input !== undefined) expect(input).toEqual(parsed(asked))
      }),
      { numRuns: 5_000 }
    )
  })
})
