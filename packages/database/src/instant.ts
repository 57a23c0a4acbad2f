/**
 * An instant as PostgreSQL reads it for a `timestamptz`, whatever the time zone of the session.
 *
 * @param ms since the Unix epoch; from year 0 on. Beyond year 9999 ISO 8601 wants a sign, which PostgreSQL does not read
 */
export function instantText(ms: number): string {
  return new Date(ms).toISOString().replace(/^\+0*/, '')
}
