import type { PageEnd } from '@open-payments-server/value-types/identifiers'
import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import * as peers from '../../modules/peers/index.js'
import type { PeerBalances, PeerEntry, PeerWithTokens, StatementDay } from '../../modules/peers/index.js'
import type { PeerDependencies } from './dependencies.js'
import { getPeer, requirePeer } from './peers.js'

const MS_PER_DAY = 86_400_000
/** What was booked on a day is there this long after it, at the latest: by then its transactions have ended. */
const SETTLING_MS = 60_000
const DATE = /^\d{4}-\d{2}-\d{2}$/

type StatementDependencies = Pick<PeerDependencies, 'database' | 'clock'>

/** What a peer owed on a day, and was owed. */
export interface PeerStatement {
  readonly peer: PeerWithTokens
  /** At the end those of now, if the day is not over. */
  readonly balances: PeerBalances
  /** Whether nothing is booked on the day any more. */
  readonly isComplete: boolean
}

/**
 * What a peer owed when a day began, and when it ended.
 *
 * @param order.date day in UTC
 * @throws CallRefused `invalid`, `not-found`, or `not-possible` for a day that has not begun
 */
export async function readPeerStatement(
  order: { readonly name: string; readonly date: string },
  dependencies: StatementDependencies
): Promise<PeerStatement> {
  const { day, isComplete } = readDayThatBegan(order.date, dependencies)
  const found = await getPeer(order.name, dependencies)
  const { id, name } = found.peer
  const balances = await peers.findPeerBalances(dependencies.database, id, day)
  if (balances === undefined) throw new Error(`peer ${name} has no accounts`)
  return { peer: found, balances, isComplete }
}

/**
 * Lists what changed what a peer owes on a day, in the order of booking.
 *
 * @throws as {@link readPeerStatement}
 */
export async function listPeerEntries(
  order: {
    readonly name: string
    readonly date: string
    readonly after: PageEnd | undefined
    readonly limit: number
  },
  dependencies: StatementDependencies
): Promise<{ readonly entries: readonly PeerEntry[]; readonly isComplete: boolean }> {
  const { day, isComplete } = readDayThatBegan(order.date, dependencies)
  const { id: peerId } = await requirePeer(order.name, dependencies.database)
  const { after, limit } = order
  return {
    entries: await peers.listPeerEntries(dependencies.database, { peerId, day, after, limit }),
    isComplete
  }
}

/** The time is taken before anything is read: what is complete then has everything. */
function readDayThatBegan(
  date: string,
  { clock }: Pick<StatementDependencies, 'clock'>
): { readonly day: StatementDay; readonly isComplete: boolean } {
  const day = readDay(date)
  const nowMs = clock.now()
  if (nowMs < day.fromMs) {
    throw new CallRefused('not-possible', `${date} has not begun in UTC`, { field: 'date' })
  }
  return { day, isComplete: nowMs >= day.toMs + SETTLING_MS }
}

function readDay(date: string): StatementDay {
  const fromMs = DATE.test(date) ? Date.parse(`${date}T00:00:00Z`) : NaN
  // A day that no month has would be read as one of the next.
  if (Number.isNaN(fromMs) || new Date(fromMs).toISOString().slice(0, 10) !== date || fromMs < 0) {
    throw invalidCallField('date', 'must be a day such as 2026-11-24')
  }
  return { fromMs, toMs: fromMs + MS_PER_DAY }
}
