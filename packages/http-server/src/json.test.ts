import { describe, expect, it, jest } from '@jest/globals'
import { CommonRefusal } from '@open-payments-server/value-types/refusals'
import { z } from 'zod'
import { JSON_DEPTH_MAX, JSON_VALUES_MAX, parseJsonObject, peekJson, validate } from './json.js'
import { measuredList, measuredText } from '@open-payments-server/value-types/schemas'

const parse = (text: string): Record<string, unknown> =>
  parseJsonObject(Buffer.from(text), 'application/json')

describe('a JSON body', () => {
  it('may be as deep as the limit, and not deeper', () => {
    // The object itself is the first level, and what it holds at the end is one more.
    const nested = (depth: number): string => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`
    expect(parse(nested(JSON_DEPTH_MAX))).toBeDefined()
    expect(() => parse(nested(JSON_DEPTH_MAX + 1))).toThrow(`nested deeper than ${String(JSON_DEPTH_MAX)}`)
  })

  it('may have as many members and elements in all as the limit, and not one more', () => {
    const object = (members: number): string =>
      JSON.stringify(
        Object.fromEntries(Array.from({ length: members }, (_, index) => [`m${String(index)}`, 1]))
      )
    // One member is the list, wherever the others are.
    const list = (elements: number): string =>
      JSON.stringify({ list: Array.from({ length: elements - 1 }, () => []) })
    for (const write of [object, list]) {
      expect(parse(write(JSON_VALUES_MAX))).toBeDefined()
      expect(() => parse(write(JSON_VALUES_MAX + 1))).toThrow('members and elements')
    }
  })

  it('may not have a member named __proto__, however deep, and keeps every other name', () => {
    expect(() => parse('{"a":[{"__proto__":{}}]}')).toThrow('invalid a.0.__proto__')
    expect(() => parse('{"__proto__":{}}')).toThrow('invalid __proto__')
    expect(JSON.stringify(parse('{"constructor":1,"prototype":2}'))).toBe('{"constructor":1,"prototype":2}')
  })
})

describe('a JSON body that is parsed early', () => {
  it.each(['{"walletAddress":"https://wallet.example/alice"}', '{"walletAddress":'])(
    'is parsed once: %s',
    (text) => {
      const body = Buffer.from(text)
      const parsing = jest.spyOn(JSON, 'parse')
      try {
        const peeked = peekJson(body)
        const read = (): unknown => parseJsonObject(body, 'application/json')
        if (peeked === undefined) expect(read).toThrow('the body is not valid JSON in UTF-8')
        else expect(read()).toBe(peeked)
        expect(parsing).toHaveBeenCalledTimes(1)
      } finally {
        parsing.mockRestore()
      }
    }
  )

  it.each([
    ['is not JSON', Buffer.from('{')],
    ['is not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['is empty', Buffer.alloc(0)]
  ])('holds nothing when it %s', (_what, body) => {
    expect(peekJson(body)).toBeUndefined()
  })

  it('is still validated', () => {
    const body = Buffer.from('{"__proto__":{}}')
    expect(peekJson(body)).toBeDefined()
    expect(() => parseJsonObject(body, 'application/json')).toThrow('invalid __proto__')
    expect(() => parseJsonObject(body, 'text/plain')).toThrow('must be application/json')
  })
})

describe('the error for a wrong field', () => {
  const schema = z.strictObject({
    url: measuredText(z.string().max(10)),
    amount: z.strictObject({ value: z.string(), scale: z.int() }).optional(),
    method: z.literal('ilp').optional(),
    tags: measuredList(z.array(z.string())).optional(),
    client: z.union([z.string(), z.strictObject({ key: z.strictObject({ kid: z.string() }) })]).optional(),
    items: z
      .array(
        z.discriminatedUnion('type', [
          z.strictObject({ type: z.literal('a'), to: z.string() }),
          z.strictObject({ type: z.literal('b') })
        ])
      )
      .optional(),
    metadata: z.record(z.string(), z.unknown()).optional(),
    hidden: z.boolean().optional()
  })

  it.each<[Record<string, unknown>, string, string]>([
    [{ url: undefined }, 'url', 'is required'],
    [{ amount: {} }, 'amount.value', 'is required'],
    [{ client: { key: {} } }, 'client.key.kid', 'is required'],
    [{ items: [{ to: 'x' }] }, 'items[0].type', 'is required'],
    [{ items: [{ type: 'a' }] }, 'items[0].to', 'is required'],
    [{ url: null }, 'url', 'must be a string'],
    [{ url: { length: 1 } }, 'url', 'must be a string'],
    [{ amount: 5 }, 'amount', 'must be an object'],
    [{ amount: { value: '5', scale: '2' } }, 'amount.scale', 'must be a number'],
    [{ amount: { value: '5', scale: 2.5 } }, 'amount.scale', 'must be an integer'],
    [{ method: 'swift' }, 'method', 'must be "ilp"'],
    [{ tags: 'x' }, 'tags', 'must be a list'],
    [{ items: [{ type: 'c' }] }, 'items[0].type', 'must be one of "a", "b"'],
    [{ metadata: [] }, 'metadata', 'must be an object'],
    [{ hidden: 'no' }, 'hidden', 'must be true or false'],
    [{ urls: 'x' }, 'urls', 'is not known here']
  ])('%j', (wrong, field, message) => {
    const body: unknown = { url: 'x', ...wrong }
    const error = refusalOf(() => validate(schema, body))
    expect(error.details).toEqual(expect.objectContaining({ [field]: message }))
  })
})

function refusalOf(action: () => unknown): CommonRefusal {
  try {
    action()
  } catch (error) {
    if (error instanceof CommonRefusal) return error
    throw error
  }
  throw new Error('nothing was refused')
}
