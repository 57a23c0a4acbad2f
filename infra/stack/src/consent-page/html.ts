/** A piece of HTML whose values are all escaped. Only {@link html} makes one. */
export class Html {
  /** @param text markup that may be sent as it is */
  private constructor(readonly text: string) {}

  /** For {@link html} alone. */
  static fromTemplate(strings: TemplateStringsArray, values: readonly HtmlValue[]): Html {
    return new Html(strings.reduce((text, string, index) => text + render(values[index - 1]) + string))
  }
}

/** Values of a template. `undefined` and `false` render as nothing. */
export type HtmlValue = Html | string | number | undefined | false | readonly HtmlValue[]

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;'
}

/** Template tag: every value that is not {@link Html} itself is escaped, for text and for quoted attributes. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return Html.fromTemplate(strings, values)
}

function render(value: HtmlValue): string {
  if (value === undefined || value === false) return ''
  if (value instanceof Html) return value.text
  if (typeof value === 'object') return value.map(render).join('')
  return String(value).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}
