import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import { startRedis } from '../src/index.js'

const path = process.env.PATH
const hasRedis = (process.env.TEST_REDIS_URL ?? '') !== ''

afterEach(() => {
  process.env.PATH = path
})

describe('a Redis on this machine', () => {
  it('is absent without an error when no redis-server is on the PATH', async () => {
    process.env.PATH = '/nowhere'
    await expect(startRedis()).resolves.toBeUndefined()
  })
})

const describeWithRedis = hasRedis ? describe : describe.skip
describeWithRedis(`a Redis on this machine (${hasRedis ? 'found' : 'no redis-server on the PATH'})`, () => {
  it('answers on 127.0.0.1, keeps nothing, and is gone once stopped', async () => {
    const redis = await startRedis()
    const { port } = new URL(redis?.url ?? '')
    await expect(ask(Number(port), 'CONFIG GET save')).resolves.toBe('*2\r\n$4\r\nsave\r\n$0\r\n\r\n')
    await redis?.stop()
    await redis?.stop()
    await expect(ask(Number(port), 'PING')).rejects.toThrow('ECONNREFUSED')
  })

  it('says that a port is taken', async () => {
    const occupant = createServer().listen(0, '127.0.0.1')
    await once(occupant, 'listening')
    const { port } = occupant.address() as AddressInfo
    await expect(startRedis({ port })).rejects.toThrow(`port ${port} of 127.0.0.1 is taken`)
    occupant.close()
  })
})

async function ask(port: number, command: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(`${command}\r\n`)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  return answer.toString()
}
