import { createLogger, systemRandom } from '@open-payments-server/runtime'
import { createResourceUrls } from '../../src/domain/resource-urls.js'
import { declineOverdue } from '../../src/features/approve-payments/decide.js'
import { deliverOutcomes } from '../../src/features/deliver-reservation-outcomes/deliver-outcomes.js'
import { createBeginSending } from '../../src/features/process-outgoing-payments/begin-sending.js'
import { createLocalPayments } from '../../src/features/process-outgoing-payments/local-payments.js'
import { tellExpiries } from '../../src/features/tell-expiries/tell-expiries.js'
import { connectAuthServer } from '../../src/grpc/auth-server/connection.js'
import { createGrantLimits } from '../../src/grpc/auth-server/grant-limits.js'
import { publishEvents } from '../../src/modules/events/index.js'
import { createProviderAccounts } from '../../src/modules/ledger/index.js'
import { closePeerDays } from '../../src/modules/peers/index.js'
import { openDatabase } from './open-database.js'
import { PUBLIC_URL } from './resource-server.js'
import type { PaymentWorld } from './payment-world.js'

/** The most that one call does of each. */
const LIMIT = 500
const CALL_DEADLINE_MS = 5_000
/** It sends nothing itself. */
const NO_ROOM = 0

/** The work of a second replica's workers, done when a test says so, beside those of the server. */
export interface WorkersOnDemand {
  /**
   * Declines what nobody decided about, processes pending payments, tells of what expired, and closes a day of each peer.
   *
   * @returns whether payments elsewhere were begun, of which the server does not know
   */
  sweep(): Promise<boolean>
  /** Delivers outcomes, and publishes events. */
  deliver(): Promise<void>
  stop(): void
}

/** Connects them to the database of a world and its auth server. They are not waited for: nothing here sleeps. */
export function startWorkersOnDemand(
  { server, clock, auth }: PaymentWorld,
  { holdsFrozen }: { holdsFrozen: boolean }
): WorkersOnDemand {
  const nothing = (): void => undefined
  const database = openDatabase(server.pool)
  const connection = connectAuthServer({
    target: `127.0.0.1:${String(auth.port)}`,
    deadlineMs: CALL_DEADLINE_MS,
    messageBytesMax: 1_048_576
  })
  const shared = {
    database,
    clock,
    random: systemRandom,
    urls: createResourceUrls(PUBLIC_URL),
    logger: createLogger({ service: 'other-replica', level: 'silent' }),
    counters: {
      countDecided: nothing,
      countEnded: nothing,
      countIncomingCompleted: nothing,
      countDelivery: nothing
    }
  }
  const deciding = {
    ...shared,
    onPaymentCreated: nothing,
    onReservationEnded: nothing,
    onEventsAppended: nothing
  }
  const delivering = {
    ...shared,
    keepsCommits: false,
    grantLimits: createGrantLimits(connection.grantLimits, { deadlineMs: CALL_DEADLINE_MS }),
    callDeadlineMs: CALL_DEADLINE_MS
  }
  const providerAccounts = createProviderAccounts()
  const method = createLocalPayments({ ...shared, holdsFrozen })
  return {
    async sweep() {
      await declineOverdue(LIMIT, deciding)
      await method.processPending(LIMIT)
      // It leaves nobody alone for a while: whoever is owed less now is paid at once.
      const begin = createBeginSending({ ...shared, holdsFrozen, providerAccounts })
      const { due } = await begin(NO_ROOM, { free: NO_ROOM, sentTo: new Map(), sentFrom: new Map() })
      await tellExpiries(LIMIT, shared)
      await closePeerDays(database, { endedBeforeMs: clock.now(), countMax: LIMIT })
      return due > 0
    },
    async deliver() {
      await deliverOutcomes({ limit: LIMIT, signal: new AbortController().signal }, delivering)
      await publishEvents(database)
    },
    stop() {
      connection.close()
    }
  }
}
