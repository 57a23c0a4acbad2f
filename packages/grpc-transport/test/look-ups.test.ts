import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import type { NamedServer } from './names-fixture.js'

// grpc-js reads this when it is loaded, and asks the system's resolver without it.
process.env.GRPC_NODE_USE_ALTERNATIVE_RESOLVER = 'true'
const { callUnary } = await import('../src/index.js')
const { promiseWithResolvers, reserveRequest, reserveResponse } = await import('./fixture.js')
const { NamedServers } = await import('./names-fixture.js')

/** The least that there may be between two look-ups. */
const LOOK_UP_PAUSE_MS = 1_000
/** Calls from which shares are measured. */
const CALLS = 300
const POLL_MS = 20

/** Servers behind one name, and calls to them one after the other. */
async function startCalling() {
  const servers = await NamedServers.start()
  const client = servers.client({ lookUpPauseMs: LOOK_UP_PAUSE_MS, callsAreLong: true })
  let made = 0
  const call = async (): Promise<void> => {
    made += 1
    await callUnary(client, 'reserve', reserveRequest(String(made)), { idempotent: false })
  }
  /** Calls until a condition holds. Hangs, and so fails, if it never does. */
  const callUntil = async (condition: () => boolean): Promise<void> => {
    while (!condition()) {
      await call()
      await delay(POLL_MS)
    }
  }
  /** The share of further calls that a server answers. */
  const shareOf = async (server: NamedServer): Promise<number> => {
    const before = server.asked.size
    for (let count = 0; count < CALLS; count += 1) await call()
    return (server.asked.size - before) / CALLS
  }
  return { servers, client, call, callUntil, shareOf }
}

describe('a channel whose name gets other addresses, while no connection ends', () => {
  it('gives a server that is added its share, and one that is taken out nothing', async () => {
    const { servers, callUntil, shareOf } = await startCalling()
    const first = await servers.add()
    servers.tell(first)
    expect(await shareOf(first)).toBe(1)

    const second = await servers.add()
    servers.tell(first, second)
    await callUntil(() => second.asked.size > 0)
    expect(await shareOf(second)).toBeCloseTo(0.5, 1)

    servers.tell(second)
    let asked = first.asked.size
    let leftAlone = 0
    // Until the next look-up it is asked every second time.
    await callUntil(() => {
      leftAlone = first.asked.size === asked ? leftAlone + 1 : 0
      asked = first.asked.size
      return leftAlone > 2
    })
    expect(await shareOf(second)).toBe(1)
  })

  it('lets calls finish at a server that is taken out', async () => {
    const { servers, client, callUntil } = await startCalling()
    const started = promiseWithResolvers()
    const release = promiseWithResolvers()
    let waits: Promise<void> | undefined
    const first = await servers.add(() => {
      started.resolve()
      // The first call alone.
      if (waits !== undefined) return Promise.resolve()
      return (waits = release.promise)
    })
    servers.tell(first)
    const long = callUnary(client, 'reserve', reserveRequest('long'), {
      idempotent: false,
      deadlineMs: 60_000
    })
    await started.promise
    const second = await servers.add()
    servers.tell(second)
    await callUntil(() => second.asked.size > 0)
    // Longer than grpc-js keeps a connection that nobody uses any more: it closes such every 10 s.
    await delay(12_000)
    release.resolve()
    expect(await long).toEqual(reserveResponse('long'))
    expect(first.asked.get('long')).toBe(1)
  })

  it('stays with the servers it knows while its name has no address, and then follows it', async () => {
    const { servers, call, callUntil } = await startCalling()
    const first = await servers.add()
    servers.tell(first)
    await call()
    servers.tell()
    const until = performance.now() + 3 * LOOK_UP_PAUSE_MS
    await callUntil(() => performance.now() > until)
    const second = await servers.add()
    servers.tell(second)
    await callUntil(() => second.asked.size > 0)
    await first.stop()
    await call()
  })
})
