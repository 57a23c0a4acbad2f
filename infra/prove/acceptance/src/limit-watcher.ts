import { setTimeout as delay } from 'node:timers/promises'
import type { TestDatabase } from '@open-payments-server/testing'

/** All limits as observed for some time. */
export interface LimitWatch {
  /** Number of observations. */
  readonly lookCount: number
  /** The highest debit counted in any window. */
  readonly debitedMax: bigint
  /** One sentence for each window that was wrong in an observation. */
  readonly violations: readonly string[]
  /** Observes once more, then stops. */
  stop(): Promise<void>
}

/** Pause between observations, so that they do not take the processor from what they observe. */
const PAUSE_MS = 20

/** One statement sees one snapshot. The limits are read from the grant, not from the window's copy. */
const LOOK = `
  with reserved as (
    select access_item_id, interval_index,
           sum(case state when 'settled' then settled_debit_value else debit_value end) as debited,
           sum(case when not receive_counted then 0
                    when state = 'settled' then settled_receive_value else receive_value end) as received
      from reservation where state in ('open', 'settled') group by access_item_id, interval_index)
  select access_item_id || '/' || interval_index as window,
         coalesce(w.spent_debit_value, 0) as debited, coalesce(w.spent_receive_value, 0) as received,
         coalesce(r.debited, 0) as reserved_debited, coalesce(r.received, 0) as reserved_received,
         a.limit_debit_value as debit_limit, a.limit_receive_value as receive_limit
    from limit_window w
    full join reserved r using (access_item_id, interval_index)
    join access_item a on a.id = access_item_id`

interface SeenWindow {
  readonly window: string
  readonly debited: string
  readonly received: string
  readonly reserved_debited: string
  readonly reserved_received: string
  readonly debit_limit: string | null
  readonly receive_limit: string | null
}

/** Observes all limits of an auth server repeatedly, each time in one snapshot. */
export function watchLimits(authDatabase: TestDatabase): LimitWatch {
  const watcher = new Watcher(authDatabase)
  const watching = watcher.run()
  return Object.assign(watcher, {
    async stop() {
      watcher.stopping = true
      await watching
    }
  })
}

class Watcher {
  lookCount = 0
  debitedMax = 0n
  readonly violations: string[] = []
  stopping = false
  readonly #database: TestDatabase

  constructor(database: TestDatabase) {
    this.#database = database
  }

  async run(): Promise<void> {
    for (let isLast = false; !isLast;) {
      isLast = this.stopping
      for (const seen of await this.#database.query<SeenWindow>(LOOK)) this.#judge(seen)
      this.lookCount += 1
      await delay(PAUSE_MS)
    }
  }

  #judge(seen: SeenWindow): void {
    const { debited, received, reserved_debited, reserved_received, debit_limit, receive_limit } = seen
    const isCounted = debited === reserved_debited && received === reserved_received
    const isWithin =
      (debit_limit === null || BigInt(debited) <= BigInt(debit_limit)) &&
      (receive_limit === null || BigInt(received) <= BigInt(receive_limit))
    if (!isCounted || !isWithin) this.violations.push(JSON.stringify(seen))
    if (BigInt(debited) > this.debitedMax) this.debitedMax = BigInt(debited)
  }
}
