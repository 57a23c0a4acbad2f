import type { Logger } from '@open-payments-server/runtime'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { Random } from '@open-payments-server/value-types/identifiers'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { WalletAddressDirectory } from '../../domain/wallet-address.js'
import type { Database, Queries } from '../../modules/database.js'

/** What deciding about payments needs. */
export interface DecideDependencies {
  readonly database: Queries
  readonly urls: ResourceUrls
  readonly clock: Clock
  readonly logger: Logger
  readonly counters: Pick<PaymentCounters, 'countDecided' | 'countEnded'>
  /** Signals that there is a payment to process. */
  readonly onPaymentCreated: () => void
  /** Signals that there is an outcome to deliver to the auth server. */
  readonly onReservationEnded: () => void
  /** Signals that there are events to publish. */
  readonly onEventsAppended: () => void
}

/** What rules need. */
export interface RuleDependencies {
  readonly database: Queries
  /** For reading whole tables: its statements may take long. */
  readonly patientDatabase: Database
  readonly walletAddresses: WalletAddressDirectory
  readonly urls: ResourceUrls
  readonly clock: Clock
  readonly random: Random
}
