import { type DestinationStream, pino } from 'pino'

/** Most that waits for a standard output that takes nothing, in characters; what comes on top of that is lost. */
const WAITING_MAX = 1_048_576

/** Most that is gathered before it is written, in characters. */
const GATHERED_MAX = 65_536

/** How long lines are gathered that come closely after others, in milliseconds. */
const GATHERED_MS = 5

/** Standard output's file descriptor. */
const STANDARD_OUTPUT = 1

/**
 * Standard output for logs. Lines are written at the end of the event loop's turn, and those that come within 5 ms of the last
 * write together: each write is a call of the system. When it takes nothing, as on a full disk, lines wait for room, and are
 * lost when they are too many: the service goes on, because no payment fails for want of a log.
 *
 * @param onLost is told how many lines were lost, once there is room again
 */
export function openStandardOutput(onLost: (count: number) => void): DestinationStream {
  const stream = pino.destination({ dest: STANDARD_OUTPUT, sync: true, maxLength: WAITING_MAX })
  let gathered = ''
  let writtenAt = -Infinity
  let lost = 0
  let isRefused = false
  const write = (): void => {
    if (gathered === '') return
    const lines = gathered
    gathered = ''
    writtenAt = performance.now()
    // What waits goes first: with too little room behind it, these lines would be dropped, and nothing tried again.
    if (isRefused) stream.write('')
    stream.write(lines)
  }
  // The lines stay in what waits, and are tried again with the next ones. There is no other place to tell of it.
  stream.on('error', () => {
    isRefused = true
  })
  stream.on('drop', (dropped: string) => {
    lost += countLines(dropped)
  })
  stream.on('write', () => {
    isRefused = false
    if (lost === 0) return
    const count = lost
    lost = 0
    setImmediate(onLost, count)
  })
  const writeSoon = (): void => {
    if (performance.now() - writtenAt > GATHERED_MS) setImmediate(write)
    else setTimeout(write, GATHERED_MS).unref()
  }
  beforeExit(write)
  const output = {
    write(line: string): void {
      if (gathered === '') writeSoon()
      gathered += line
      if (gathered.length >= GATHERED_MAX) write()
    },
    // What could be is written at once, and the rest is not waited for: pino's own would block the process until it can be.
    flushSync: write
  }
  return output
}

const lastWords: (() => void)[] = []

/** However the process ends by itself, what it said last is told. */
function beforeExit(write: () => void): void {
  if (lastWords.length === 0) {
    process.on('exit', () => {
      for (const one of lastWords) one()
    })
  }
  lastWords.push(write)
}

function countLines(text: string): number {
  return text.split('\n').length - 1
}
