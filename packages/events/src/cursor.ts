const CURSOR = /^(?<service>[a-z-]+)\.(?<number>0|[1-9]\d{0,17})$/

/**
 * Where a reader of a service's events stands, on the wire: opaque to readers.
 *
 * @param service whose events are read, such as `resource-server`
 * @param number of the last event that it read; 0 before the first
 */
export function formatCursor(service: string, number: bigint): string {
  return `${service}.${number.toString()}`
}

/** Reads what {@link formatCursor} wrote; undefined for any other text, also for the cursor of another service. */
export function parseCursor(service: string, text: string): bigint | undefined {
  const groups = CURSOR.exec(text)?.groups
  return groups?.number === undefined || groups.service !== service ? undefined : BigInt(groups.number)
}
