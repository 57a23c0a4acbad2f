import { setTimeout as delay } from 'node:timers/promises'
import type { SenderClock } from '@open-payments-server/interledger'
import type { Clock } from '@open-payments-server/value-types/clock'

/** A clock that can also let time pass. */
export function createSenderClock(clock: Clock): SenderClock {
  return {
    now: () => clock.now(),
    async wait(milliseconds, signal) {
      await delay(Math.max(0, milliseconds), undefined, { signal }).catch(() => undefined) // waited for no longer
    }
  }
}
