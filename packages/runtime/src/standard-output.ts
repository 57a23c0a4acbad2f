import { type DestinationStream, pino } from 'pino'

/** Most that waits for a standard output that takes nothing, in bytes; what comes on top of that is lost. */
const WAITING_MAX = 1_048_576

/** From how much on lines are written without waiting for more, in bytes: each write is a call of the system. */
const GATHERED_MIN = 4_096

/** How long lines wait for others at most, and how often those are tried again that there was no room for, in milliseconds. */
const WRITE_INTERVAL_MS = 100

/** How often a process that ends tries again, a tenth of a second later, when its reader does not keep up. */
const LAST_TRIES = 10

let opened: DestinationStream | undefined

/**
 * Standard output for logs, of which a process has one. When it takes nothing, as on a full disk or when nobody reads it, lines
 * wait for room, and are lost when they are too many: the service goes on, because no payment fails for want of a log. A process
 * that ends waits a second for a reader that does not keep up, and for no disk.
 *
 * @param onLost is told how many lines were lost, to log it: once there is room again. Only that of the first who asks is
 */
export function openStandardOutput(onLost: (count: number) => void): DestinationStream {
  opened ??= open(onLost)
  return opened
}

function open(onLost: (count: number) => void): DestinationStream {
  let lastTries = 0
  // Without a descriptor it is that of `process.stdout`, which Node keeps from blocking where it is a pipe. Where it is written
  // to in threads, pino ends with `flushSync`, which tries for ever while a disk is full.
  const stream = pino.destination({
    sync: true,
    minLength: GATHERED_MIN,
    maxLength: WAITING_MAX,
    periodicFlush: WRITE_INTERVAL_MS,
    retryEAGAIN: () => lastTries-- > 0
  })
  // The lines stay in what waits, and are tried again. There is no other place to tell of it.
  stream.on('error', () => undefined)
  let lost = 0
  stream.on('drop', () => {
    lost += 1
  })
  stream.on('drain', () => {
    if (lost === 0) return
    const told = lost
    onLost(told)
    // The line that tells of it may be one too many, too.
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
