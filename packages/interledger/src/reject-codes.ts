/** Final codes that still leave hope for another packet: another amount, rate, or path. */
const HOPEFUL = new Set(['F04', 'F05', 'F08', 'F99'])

/**
 * Whether a Reject ends the payment. Receivers and connectors differ in what they say for the same thing, so of the final codes only
 * those end it that no other packet can change; an unknown final code does, all else does not.
 */
export function isFinal(code: string): boolean {
  return code.startsWith('F') && !HOPEFUL.has(code)
}

/** Whether a Reject says that the path is overloaded or out of money for now (IL-RFC 27 §3.2). */
export function isTemporary(code: string): boolean {
  return code.startsWith('T')
}
