/** Maximum length of a text that is recorded, in characters. */
const TEXT_LENGTH_MAX = 2_048
/** Maximum length of what is recorded of a request, in characters. */
const REQUEST_LENGTH_MAX = 32_768

/** What JSON cannot hold in PostgreSQL: U+0000, and halves of characters. */
const UNHELD = /\0|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

/** A text as it is recorded: without what PostgreSQL cannot hold, and cut off. */
export function heldText(text: string, lengthMax = TEXT_LENGTH_MAX): string {
  return text.slice(0, lengthMax).replace(UNHELD, '\ufffd')
}

/**
 * A message, or part of one, as JSON: whole numbers beyond 32 bits as decimal strings, instants as ISO 8601 text, bytes in base64, as the
 * JSON of Protocol Buffers has them.
 *
 * @param lengthMax longer texts are cut off
 */
export function plain(value: unknown, lengthMax = TEXT_LENGTH_MAX): unknown {
  if (typeof value === 'string') return heldText(value, lengthMax)
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString()
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (Array.isArray(value)) return value.map((item) => plain(item, lengthMax))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return Object.fromEntries(members.map(([name, member]) => [name, plain(member, lengthMax)]))
}

/** How a request is written down. */
export interface RequestForm {
  /** Fields that are left out. */
  readonly secrets?: readonly string[] | undefined
  /** Enumerations by fields. */
  readonly enumerations?: Readonly<Record<string, Readonly<Record<number, string>>>> | undefined
  /** The request in which nothing is set: it tells fields that are always there, and may be empty, from those that are sent or not. */
  readonly blank: object
}

/** A request as JSON text, without fields that are secret or say nothing. */
export function requestText(request: object, form: RequestForm): string {
  const text = writeRequest(request, form, TEXT_LENGTH_MAX)
  return text.length <= REQUEST_LENGTH_MAX ? text : JSON.stringify({ tooLong: text.length })
}

/** A request as JSON text, with nothing left out but fields that say nothing. */
export function wholeRequestText(request: object, form: RequestForm): string {
  return writeRequest(request, { ...form, secrets: [] }, Infinity)
}

function writeRequest(
  request: object,
  { secrets = [], enumerations = {}, blank }: RequestForm,
  lengthMax: number
): string {
  const alwaysThere = new Set(
    Object.entries(blank).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  )
  const members = Object.entries(request).filter(
    ([name, value]) =>
      !secrets.includes(name) && value !== undefined && !(alwaysThere.has(name) && isEmpty(value))
  )
  return JSON.stringify(
    Object.fromEntries(
      members.map(([name, value]) => {
        const words = enumerations[name]
        return [name, typeof value === 'number' ? (words?.[value] ?? value) : plain(value, lengthMax)]
      })
    )
  )
}

/** Whether a field says nothing. `false` and 0 may. */
export function isEmpty(value: unknown): boolean {
  return value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
}
