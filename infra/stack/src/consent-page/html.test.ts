import { describe, expect, it } from '@jest/globals'
import { html } from './html.js'

describe('the html tag', () => {
  it('escapes every value, in text and in attributes', () => {
    const value = `<b a="1" c='2'>&`
    expect(html`<p title="${value}">${value}</p>`.text).toBe(
      '<p title="&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;">&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;</p>'
    )
  })

  it('nests, joins lists and leaves out what is absent', () => {
    const items = ['<', 2].map((item) => html`<li>${item}</li>`)
    expect(html`<p>${items}${undefined}${false}</p>`.text).toBe('<p><li>&lt;</li><li>2</li></p>')
  })

  it('treats look-alikes of markup as text', () => {
    const forged = { text: '<script>' } as unknown as string
    expect(() => html`${forged}`).toThrow()
  })
})
