import { describe, expect, it } from '@jest/globals'
import { withoutFinalSlashes } from './final-slashes.js'

describe('a URL without its final slashes', () => {
  it.each([
    ['https://wallet.example', 'https://wallet.example'],
    ['https://wallet.example/', 'https://wallet.example'],
    ['https://wallet.example/alice///', 'https://wallet.example/alice'],
    ['https://wallet.example//alice', 'https://wallet.example//alice'],
    ['', ''],
    ['//', '']
  ])('%s is %s', (url, expected) => {
    expect(withoutFinalSlashes(url)).toBe(expected)
  })

  it('takes no longer for a million slashes than for their number', () => {
    // Squared they would take minutes, and end by the limit of a test.
    const url = `https://wallet.example${'/'.repeat(1_000_000)}alice`
    expect(withoutFinalSlashes(`${url}/`)).toBe(url)
  })
})
