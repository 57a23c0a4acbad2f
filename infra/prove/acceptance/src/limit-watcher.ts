import { setTimeout as delay } from 'node:timers/promises'
import type { TestDatabase } from '@open-payments-server/testing'

/** What was seen of all limits over a while. */
export interface LimitWatch {
  /** How often they were looked at. */
  readonly lookCount: number
  /** The most that was ever counted as debited in one window. */
  readonly debitedMax: bigint
  /** One sentence for each window and look that was not as it must be. */
  readonly violations: readonly string[]
  /** Looks once more, then no more. */
  stop(): Promise<void>
}

/** Pause between looks: they must not take the processor from what they watch. */
const PAUSE_MS = 20

/** One statement sees one snapshot. The limits are read where the grant has them, not where the window copied them. */
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

/** Looks at all limits of an auth server again and again, each time in one snapshot. */
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
