import { type DestinationStream, pino } from 'pino'

/** Most that waits for a standard output that takes nothing, in characters; what comes on top of that is lost. */
const WAITING_MAX = 1_048_576

/** Standard output's file descriptor. */
const STANDARD_OUTPUT = 1

/**
 * Standard output for logs. When it takes nothing, as on a full disk, lines wait for room, and are lost when they are too many:
 * the service goes on, because no payment fails for want of a log.
 *
 * @param onLost is told how many lines were lost, once there is room again
 */
export function openStandardOutput(onLost: (count: number) => void): DestinationStream {
  const stream = pino.destination({ dest: STANDARD_OUTPUT, sync: true, maxLength: WAITING_MAX })
  let lost = 0
  // The line stays in what waits, and is tried again with the next one. There is no other place to tell of it.
  stream.on('error', () => undefined)
  stream.on('drop', () => {
    lost += 1
  })
  stream.on('write', () => {
    if (lost === 0) return
    const count = lost
    lost = 0
    setImmediate(onLost, count)
  })
  // Everything is written at once, and what could not be is not waited for: pino's own would block the process until it can be.
  stream.flushSync = () => undefined
  return stream
}
