import { once } from 'node:events'
import { createServer } from 'node:net'

/** True when nothing listens on this port of 127.0.0.1. */
export async function isPortFree(port: number): Promise<boolean> {
  return (await listenOnce(port)) !== undefined
}

/** A port of 127.0.0.1 that was free a moment ago; another process may still take it first. */
export async function findFreePort(): Promise<number> {
  const port = await listenOnce(0)
  if (port === undefined) throw new Error('the system has no free port to give')
  return port
}

async function listenOnce(port: number): Promise<number | undefined> {
  const server = createServer()
  server.listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined
    throw error
  }
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : undefined
}
