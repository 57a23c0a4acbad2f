import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * The range of ports to try: below the ephemeral ports of systems, so that no connection takes one between now and its use.
 */
const PORT_MIN = 10_000
const PORT_MAX = 30_000
const ATTEMPTS_MAX = 1_000

/**
 * Tests that run beside each other look in ranges of their own, and no process is given a port twice: between finding a port and
 * listening on it lie seconds, in which a system's dozens of ports would often meet those of another.
 */
const RANGES = 16
const RANGE_SIZE = (PORT_MAX - PORT_MIN) / RANGES
const found = new Set<number>()

/** True when nothing listens on this port of 127.0.0.1. */
export async function isPortFree(port: number): Promise<boolean> {
  const server = createServer()
  server.listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false
    throw error
  }
  server.close()
  await once(server, 'close')
  return true
}

/**
 * A port of 127.0.0.1 that was free a moment ago, and was not found before; another process may still take it first.
 *
 * @throws Error when there is none
 */
export async function findFreePort(): Promise<number> {
  const { JEST_WORKER_ID: worker = '0' } = process.env
  const first = PORT_MIN + (Number(worker) % RANGES) * RANGE_SIZE
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const port = randomInt(first, first + RANGE_SIZE)
    if (found.has(port)) continue
    found.add(port)
    if (await isPortFree(port)) return port
  }
  throw new Error(`no port from ${String(first)} to ${String(first + RANGE_SIZE)} is free`)
}

/** Several different free ports. */
export async function findFreePorts(count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) ports.add(await findFreePort())
  return [...ports]
}
