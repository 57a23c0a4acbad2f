import { randomInt } from 'node:crypto'
import { assertPortsFree } from '../src/stack/ports.js'
import { readSecondSettings, readSettings } from '../src/stack/settings.js'

/**
 * Consecutive free ports, and as many for a second provider: between where other tests look for one and the ephemeral range.
 *
 * @param directory of the stack that is to use them
 */
export async function freePortBase(directory: string): Promise<string> {
  for (;;) {
    const base = String(randomInt(30_000, 32_600))
    const environment = { STACK_PORT_BASE: base, STACK_DIRECTORY: directory }
    const both = [readSettings(environment), readSecondSettings(environment)]
    const isFree = await Promise.all(both.map(({ ports }) => assertPortsFree(ports))).then(
      () => true,
      () => false
    )
    if (isFree) return base
  }
}
