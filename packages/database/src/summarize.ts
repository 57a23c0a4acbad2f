/** Parts of a name, quoted or unquoted. */
const NAME = String.raw`(?:"[^"]+"|[\w$]+)`
const TABLE = new RegExp(String.raw`\b(?:from|into|update|join)\s+(?:only\s+)?(${NAME}(?:\.${NAME})?)`, 'i')
const OPERATION = /^\s*(\w+)/

/** How much of a statement is scanned: tables are named early. */
const TEXT_LENGTH_MAX = 2_000

/**
 * Names a statement by its operation and its first table, such as `SELECT grant_request`: a small set of names, without any
 * values.
 */
export function summarize(text: string): string {
  const beginning = text.slice(0, TEXT_LENGTH_MAX)
  const operation = OPERATION.exec(beginning)?.[1]?.toUpperCase() ?? 'SQL'
  const table = TABLE.exec(beginning)?.[1]?.split('.').at(-1)?.replaceAll('"', '')
  return table === undefined ? operation : `${operation} ${table}`
}
