import { once } from 'node:events'
import { createServer } from 'node:net'
import { PORT_PURPOSES, StackError, type StackPorts } from './settings.js'

/** Addresses on which another program would be reached by `localhost` instead of us. */
const LOOPBACK_ADDRESSES = ['127.0.0.1', '::1']

/**
 * Makes sure that every port is free.
 *
 * @throws StackError naming the port that is taken and what to do
 */
export async function assertPortsFree(ports: Partial<StackPorts>): Promise<void> {
  for (const [name, port] of Object.entries(ports) as [keyof StackPorts, number][]) {
    for (const address of LOOPBACK_ADDRESSES) {
      if (await isFree(port, address)) continue
      throw new StackError(
        `Port ${String(port)} (for ${PORT_PURPOSES[name]}) is taken by another program.\n` +
          `Stop that program, or choose other ports, for instance: STACK_PORT_BASE=5000 npm start`
      )
    }
  }
}

async function isFree(port: number, address: string): Promise<boolean> {
  const server = createServer()
  server.listen({ port, host: address, exclusive: true })
  try {
    await once(server, 'listening')
  } catch (error) {
    // Machines without IPv6 have no ::1, so nothing listens there.
    const { code } = error as NodeJS.ErrnoException
    return code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT'
  }
  server.close()
  await once(server, 'close')
  return true
}
