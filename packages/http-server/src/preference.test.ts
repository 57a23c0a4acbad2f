import { describe, expect, it } from '@jest/globals'
import { readPreference } from './preference.js'

describe('a preference', () => {
  it.each([
    ['wait=10', '10'],
    ['respond-async, wait=10', '10'],
    ['WAIT = 10 ; unit="s"', '10'],
    ['wait="10"', '10'],
    ['wait="1\\0"', '10'],
    ['foo="a, wait=3", wait=10', '10'],
    ['foo; bar="wait=1, wait=2", wait=10', '10'],
    ['wait=1, wait=2', '1'],
    ['wait', ''],
    ['wait=', ''],
    ['wait=""', ''],
    ['wait=-1', '-1'],
    ['wait=1 0', '1 0'],
    ['wait="10', '"10'],
    ['wait="10\\', '"10\\'],
    [',, ;, =, wait=4', '4']
  ])('is read from %s', (header, value) => {
    expect(readPreference(header, 'wait')).toBe(value)
  })

  it.each([undefined, '', 'respond-async', 'waiting=1', 'foo="wait=1', 'foo;wait=1', '"wait"=1', ',;="'])(
    'is not found in %s',
    (header) => {
      expect(readPreference(header, 'wait')).toBeUndefined()
    }
  )

  it('is read in linear time', () => {
    for (const piece of ['"', '\\', ',', ';', '"\\', '"a', 'wait', '=", ']) {
      const header = piece.repeat(100_000)
      const startedMs = performance.now()
      readPreference(header, 'nothing')
      expect(performance.now() - startedMs).toBeLessThan(2_000)
    }
  })
})
