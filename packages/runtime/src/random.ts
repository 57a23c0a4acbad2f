import { randomBytes } from 'node:crypto'
import type { Random } from '@open-payments-server/value-types/identifiers'

/** Number of bytes drawn from the system at a time: a draw costs as much as making several ids from it. */
const DRAWN_BYTES = 4_096

/** The system's random source. */
export const systemRandom: Random = drawAhead(randomBytes)

/**
 * Draws bytes ahead. Each is handed out once, as a copy, and not kept.
 *
 * @param draw returns that many unpredictable bytes
 */
export function drawAhead(draw: (length: number) => Buffer): Random {
  let drawn: Buffer = Buffer.alloc(0)
  let used = 0
  return {
    bytes(length) {
      if (length > DRAWN_BYTES) return draw(length)
      if (used + length > drawn.length) {
        drawn = draw(DRAWN_BYTES)
        used = 0
      }
      const taken = drawn.subarray(used, used + length)
      used += length
      const bytes = Buffer.from(taken)
      taken.fill(0)
      return bytes
    }
  }
}
