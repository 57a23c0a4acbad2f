import pg from 'pg'

/** Reads any form in which PostgreSQL writes an instant. */
const parseInstant = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ) as (text: string) => Date

/** `2026-01-31 12:00:00.000+00`, of which PostgreSQL leaves out zeros at the end, and the point before them. */
const UTC = '+00'
const LENGTH_MIN = 22
const LENGTH_MAX = 26

/**
 * Writes an instant as `Date.toISOString` does: what is asked for only to be written again need not become a date.
 *
 * @param text a `timestamptz` in whole milliseconds, as PostgreSQL writes it
 */
export function isoInstant(text: string): string {
  const { length } = text
  const isPlain = text[10] === ' ' && text.endsWith(UTC) && length >= LENGTH_MIN && length <= LENGTH_MAX
  if (!isPlain) return parseInstant(text).toISOString()
  const fraction = length === LENGTH_MIN ? '.' : text.slice(19, -UTC.length)
  return `${text.slice(0, 10)}T${text.slice(11, 19)}${fraction.padEnd(4, '0')}Z`
}
