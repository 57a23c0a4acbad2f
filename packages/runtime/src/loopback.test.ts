import { describe, expect, it } from '@jest/globals'
import { isLoopbackHost } from './index.js'

describe('a host is this machine itself', () => {
  it.each(['localhost', 'LOCALHOST', '127.0.0.1', '127.8.8.8', '::1', '[::1]', '::ffff:127.0.0.1'])(
    'when it is %s',
    (host) => {
      expect(isLoopbackHost(host)).toBe(true)
    }
  )

  it.each([
    '',
    '0.0.0.0',
    '::',
    '10.0.0.1',
    '128.0.0.1',
    '::ffff:10.0.0.1',
    'localhost.example',
    '127.0.0.1.example'
  ])('but not when it is %s', (host) => {
    expect(isLoopbackHost(host)).toBe(false)
  })
})
