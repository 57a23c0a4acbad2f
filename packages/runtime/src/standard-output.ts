import { type DestinationStream, pino } from 'pino'

/** Maximum size of buffered lines while standard output accepts nothing, in bytes; further lines are lost. */
const WAITING_MAX = 1_048_576

/** Buffered size that triggers a write, in bytes: each write is a system call. */
const GATHERED_MIN = 4_096

/** How often buffered lines are written, and failed writes retried, in milliseconds. */
const WRITE_INTERVAL_MS = 100

/** Number of retries on exit, a tenth of a second apart, when the reader is slow. */
const LAST_TRIES = 10

let opened: DestinationStream | undefined

/**
 * Standard output for logs, opened once per process. While it accepts nothing (a full disk, or no reader), lines are buffered, and
 * lost beyond a maximum. Logging never fails a payment. On exit it waits up to 1 s for a slow reader, never for a full disk.
 *
 * @param onLost called with the number of lost lines, to log it, once writing works again. Only the first caller's is used
 */
export function openStandardOutput(onLost: (count: number) => void): DestinationStream {
  opened ??= open(onLost)
  return opened
}

function open(onLost: (count: number) => void): DestinationStream {
  let lastTries = 0
  // Without a descriptor, pino uses that of `process.stdout`, which Node makes non-blocking for a pipe. Asynchronous destinations
  // end with `flushSync`, which retries for ever while a disk is full.
  const stream = pino.destination({
    sync: true,
    minLength: GATHERED_MIN,
    maxLength: WAITING_MAX,
    periodicFlush: WRITE_INTERVAL_MS,
    retryEAGAIN: () => lastTries-- > 0
  })
  // The lines stay buffered and are retried. There is nowhere else to report the error.
  stream.on('error', () => undefined)
  let lost = 0
  stream.on('drop', () => {
    lost += 1
  })
  stream.on('drain', () => {
    if (lost === 0) return
    const told = lost
    onLost(told)
    // The line that reports it may itself be dropped.
    lost = lost === told ? 0 : told
  })
  // Pino sees to it only where it writes in threads.
  process.on('exit', () => {
    lastTries = LAST_TRIES
    stream.end()
  })
  const output = {
    write(line: string): void {
      stream.write(line)
    },
    // Pino calls it after a fatal line. That of the stream tries until it has written, so that the process would stand still.
    flushSync(): void {
      stream.flush()
    }
  }
  return output
}
