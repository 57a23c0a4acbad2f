import { invalidCallField } from '../../domain/call-refused.js'
import type { EventType } from '../../domain/event-types.js'
import type { Queries } from '../../modules/database.js'
import { countPaymentHours, listPaymentHours, type PaymentHour } from '../../modules/payment-hours/index.js'
import type { ShowPaymentsDependencies } from './payment-life.js'

const HOUR_MS = 3_600_000
const [HOURS_DEFAULT, HOURS_MAX] = [24, 720] as const

/** What is counted of outgoing payments, by the events that tell of it. */
const COUNTED = {
  'outgoing_payment.created': 'createdCount',
  'outgoing_payment.completed': 'completedCount',
  'outgoing_payment.failed': 'failedCount'
} as const satisfies Partial<Record<EventType, keyof PaymentHour>>

/**
 * Counts what happened to outgoing payments, by the hour, until it is written. An event is published once, by whatever process, so each
 * is counted once; what a process has not written when it is killed is missing.
 */
export class PaymentHours {
  readonly #clock: ShowPaymentsDependencies['clock']
  #counted = new Map<number, PaymentHour>()

  constructor({ clock }: Pick<ShowPaymentsDependencies, 'clock'>) {
    this.#clock = clock
  }

  /** Events of a type were published. */
  count(type: EventType, count: number): void {
    const member = COUNTED[type as keyof typeof COUNTED] as keyof PaymentHour | undefined
    if (member === undefined) return
    const startedAtMs = hourOf(this.#clock.now())
    const hour = this.#counted.get(startedAtMs) ?? emptyHour(startedAtMs)
    this.#counted.set(startedAtMs, { ...hour, [member]: hour[member] + count })
  }

  /** Writes what was counted. If it cannot be written, it stays counted. */
  async write(database: Queries): Promise<void> {
    const writing = this.#counted
    this.#counted = new Map()
    try {
      await countPaymentHours(database, [...writing.values()])
    } catch (error) {
      for (const [startedAtMs, { createdCount, completedCount, failedCount }] of writing) {
        const later = this.#counted.get(startedAtMs) ?? emptyHour(startedAtMs)
        this.#counted.set(startedAtMs, {
          startedAtMs,
          createdCount: later.createdCount + createdCount,
          completedCount: later.completedCount + completedCount,
          failedCount: later.failedCount + failedCount
        })
      }
      throw error
    }
  }
}

/**
 * What happened to outgoing payments in each of the last hours, the oldest first, with the one that runs.
 *
 * @param hours 0 for 24
 * @throws CallRefused `invalid`
 */
export async function countPayments(
  hours: number,
  { database, clock }: ShowPaymentsDependencies
): Promise<readonly PaymentHour[]> {
  if (hours > HOURS_MAX) throw invalidCallField('hours', `must be at most ${String(HOURS_MAX)}`)
  const limit = hours === 0 ? HOURS_DEFAULT : hours
  const fromMs = hourOf(clock.now()) - (limit - 1) * HOUR_MS
  const found = await listPaymentHours(database, { fromMs, limit })
  const byStart = new Map(found.map((hour) => [hour.startedAtMs, hour]))
  return Array.from({ length: limit }, (_, index) => {
    const startedAtMs = fromMs + index * HOUR_MS
    return byStart.get(startedAtMs) ?? emptyHour(startedAtMs)
  })
}

function emptyHour(startedAtMs: number): PaymentHour {
  return { startedAtMs, createdCount: 0, completedCount: 0, failedCount: 0 }
}

function hourOf(instantMs: number): number {
  return Math.floor(instantMs / HOUR_MS) * HOUR_MS
}
