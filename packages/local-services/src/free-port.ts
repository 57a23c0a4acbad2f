import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * The range of ports to try: below the ephemeral ports of systems, so that no connection takes one between now and its use.
 */
const PORT_MIN = 10_000
const PORT_MAX = 30_000
const ATTEMPTS_MAX = 1_000

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
 * A port of 127.0.0.1 that was free a moment ago; another process may still take it first.
 *
 * @throws Error when there is none
 */
export async function findFreePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const port = randomInt(PORT_MIN, PORT_MAX)
    if (await isPortFree(port)) return port
  }
  throw new Error(`no port from ${String(PORT_MIN)} to ${String(PORT_MAX)} is free`)
}

/** Several different free ports. */
export async function findFreePorts(count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) ports.add(await findFreePort())
  return [...ports]
}
