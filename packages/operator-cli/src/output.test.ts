import { describe, expect, it } from '@jest/globals'
import { Printer } from './output.js'

const METADATA = { 'note\u202e': 'paid\u0085\u009b2J\u007f\u2066 \\\u202e "x"\n' }

describe('a line of what has no end', () => {
  const printed = (isJson: boolean): string => {
    let text = ''
    const stdout = (part: string) => (text += part)
    const printer = new Printer({ stdout, stderr: () => undefined, colors: false }, isJson)
    printer.line({ metadata: METADATA }, `paid ${METADATA['note\u202e'] ?? ''}`.trimEnd())
    return text
  }

  it.each([true, false])('has nothing that controls a terminal, in JSON: %p', (isJson) => {
    expect(printed(isJson)).toMatch(/^[^\p{Cc}\p{Bidi_Control}]*\n$/u)
  })

  it('is JSON with the content that there was', () => {
    expect(JSON.parse(printed(true))).toEqual({ metadata: METADATA })
  })
})
