import { setTimeout as delay } from 'node:timers/promises'
import { isTransient, Statement } from '@open-payments-server/database'
import type { Logger } from '@open-payments-server/runtime'
import type { Clock } from '@open-payments-server/value-types/clock'
import { Prisma, type Queries } from '../../modules/database.js'
import { isAnyPacketWritten, packetsToFind, type PaymentPackets } from '../../modules/interledger/index.js'
import { leasedSending } from '../../modules/outgoing-payments/index.js'

/** Pause before the database is asked again; it doubles each time. */
const PAUSE_FIRST_MS = 50
/** Maximum pause. */
const PAUSE_MAX_MS = 1_000

/** The payment as the database has it, if it is still sent with its lease. */
const LOOK = new Statement<{ readonly is_doubtful: boolean; readonly is_written: boolean }>(
  'find-written-packets',
  Prisma.sql`select leased.is_doubtful, ${isAnyPacketWritten} as is_written from (${leasedSending}) leased`
)

/** What writing until it is certain needs. */
interface Dependencies {
  readonly database: Queries
  readonly clock: Clock
  readonly logger: Logger
}

/**
 * Writes down packets until it is certain that they are. What became of those that were sent is known here and nowhere else, so no passing
 * fault may lose it. A write without an answer may have been made: before the next one, it is looked whether it was.
 *
 * @param write writes all of it, or nothing
 * @param untilMs when it is not tried again any more, in milliseconds since the Unix epoch
 * @throws what the database throws, when that does not pass in time, or somebody else has taken the payment
 */
export async function writeUntilCertain(
  entry: PaymentPackets,
  write: (entry: PaymentPackets) => Promise<unknown>,
  { untilMs, database, clock, logger }: Dependencies & { readonly untilMs: number }
): Promise<void> {
  const { paymentId, leaseId } = entry
  let pauseMs = PAUSE_FIRST_MS
  const pause = async (error: unknown): Promise<void> => {
    if (clock.now() + pauseMs > untilMs) throw error
    if (pauseMs === PAUSE_FIRST_MS)
      logger.warn({ err: error, paymentId }, 'packets are not written down yet: trying again')
    await delay(pauseMs)
    pauseMs = Math.min(PAUSE_MAX_MS, pauseMs * 2)
  }
  const look = async () => {
    for (;;) {
      try {
        return (await LOOK.rows(database, { ...packetsToFind(entry), paymentId, leaseId }))[0]
      } catch (error) {
        if (!isTransient(error)) throw error
        await pause(error)
      }
    }
  }
  for (;;) {
    try {
      await write(entry)
      return
    } catch (error) {
      const found = await look()
      if (found?.is_written === true) return
      if (found === undefined || !(found.is_doubtful || isTransient(error))) throw error
      await pause(error)
    }
  }
}
