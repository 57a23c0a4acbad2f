import { allSettled } from '@open-payments-server/acceptance'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { fuzzTests } from '../src/fuzz.js'
import { clientTargets } from '../src/wire/client-targets.js'
import { operatorTargets } from '../src/wire/operator-targets.js'
import { peerTargets } from '../src/wire/peer-targets.js'
import { rawTargets } from '../src/wire/raw-targets.js'
import { startWorld, type World } from '../src/wire/world.js'

describe('both services', () => {
  let running: World
  const world = (): World => running

  beforeAll(async () => {
    running = await startWorld()
  })
  afterAll(() => running.stop())

  fuzzTests(
    'whatever they are sent',
    [...clientTargets(world), ...rawTargets(world), ...operatorTargets(world), ...peerTargets(world)],
    0.02
  )

  it('account for every unit of money afterwards', async () => {
    await allSettled(running.system)
    expect(await running.system.audit()).toEqual([])
  })
})
