import { describe, expect, it } from '@jest/globals'
import { JSON_DEPTH_MAX, JSON_VALUES_MAX, parseJsonObject } from './json.js'

const parse = (text: string): Record<string, unknown> =>
  parseJsonObject(Buffer.from(text), 'application/json', '400')

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
