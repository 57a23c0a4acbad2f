import { allSettled } from '@open-payments-server/acceptance'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { fuzzTests } from '../src/fuzz-tests.js'
import { SHARES_IN_ALL } from '../src/settings.js'
import { FUNCTION_TARGETS } from '../src/targets/index.js'
import { pageTargets } from '../src/wire/page-targets.js'
import { rawTargets } from '../src/wire/raw-targets.js'
import { signedTargets } from '../src/wire/signed-targets.js'
import { startWorld, type World } from '../src/wire/world.js'

describe('both services', () => {
  let running: World
  const world = (): World => running
  const targets = [...signedTargets(world), ...rawTargets(world), ...pageTargets(world)]

  beforeAll(async () => {
    running = await startWorld()
  })
  afterAll(() => running.system.stop())

  fuzzTests('whatever they are sent', targets)

  it('have every unit of money where it belongs after all of that', async () => {
    await allSettled(running.system)
    expect(await running.system.audit()).toEqual([])
  })

  it('and the functions are given as many cases as there are, in all', () => {
    const shares = [...FUNCTION_TARGETS, ...targets].map(({ share }) => share)
    expect(shares.reduce((sum, share) => sum + share)).toBe(SHARES_IN_ALL)
  })
})
