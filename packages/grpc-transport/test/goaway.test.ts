import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import { callUnary, status } from '../src/index.js'
import {
  limitsClient,
  promiseWithResolvers,
  rejectionOf,
  reserveRequest,
  reserveResponse,
  startServer
} from './fixture.js'

/** Longer than it takes a client to ask twice whether the server is there. */
const PAST_KEEPALIVES_MS = 4_500
const ONCE = { idempotent: false }

/** A server whose call waits, a call of it that waits, and the server on its way to a stop. */
async function stopDuringCall(channel: { callsAreLong: boolean }) {
  const started = promiseWithResolvers()
  const release = promiseWithResolvers()
  const { server } = await startServer(({ unary }) => ({
    limits: {
      reserve: unary(async () => {
        started.resolve()
        await release.promise
        return reserveResponse('over the old connection')
      })
    }
  }))
  const client = limitsClient(server.address, { ...channel, retriesMax: 0 })
  const running = callUnary(client, 'reserve', reserveRequest(), { ...ONCE, deadlineMs: 20_000 })
  await started.promise
  const stopping = server.stop(20_000)
  return { running, stopping, release: release.resolve }
}

describe('a server that shuts down', () => {
  it('still answers running calls on a channel for long calls', async () => {
    const { running, stopping, release } = await stopDuringCall({ callsAreLong: true })
    await delay(PAST_KEEPALIVES_MS)
    release()
    expect(await running).toEqual(reserveResponse('over the old connection'))
    await stopping
  })

  it('is abandoned within seconds on other channels, whose calls can be repeated elsewhere', async () => {
    const { running, stopping, release } = await stopDuringCall({ callsAreLong: false })
    expect(await rejectionOf(running)).toMatchObject({ code: status.UNAVAILABLE })
    release()
    await stopping
  })
})
