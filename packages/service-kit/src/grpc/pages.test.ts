import { describe, expect, it } from '@jest/globals'
import { readPageToken, writePageToken } from './pages.js'

const END = {
  createdAtMs: Date.parse('2026-11-21T12:00:00.123Z'),
  id: '0190a8b1-0000-7000-8000-000000000001'
}

/** A text in the encoding of page tokens. */
function encoded(text: string): string {
  return Buffer.from(text).toString('base64url')
}

describe('a page token', () => {
  it('says where a page ended', () => {
    expect(readPageToken(writePageToken(END))).toEqual(END)
    const last = { ...END, createdAtMs: 8.64e15 }
    expect(readPageToken(writePageToken(last))).toEqual(last)
  })

  it.each([
    ['is no such text', 'x'],
    ['has no id', encoded('1')],
    ['has an instant that no date has', encoded(`8640000000000001.${END.id}`)],
    ['has a negative instant', encoded(`-1.${END.id}`)],
    ['has an id that is no UUID', encoded('1.1')],
    ['says more than that', encoded(`1.${END.id}.1`)],
    ['is as long as a message may be', encoded('.'.repeat(3_000_000))]
  ])('is refused when it %s', (_what, token) => {
    expect(() => readPageToken(token)).toThrow('page_token must be a next_page_token')
  })
})
