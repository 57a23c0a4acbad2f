import type { PaymentAddresses } from '@open-payments-server/interledger'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { Random } from '@open-payments-server/value-types/identifiers'
import type { RateProvider } from '../../domain/rates.js'
import type { Database } from '../../modules/database.js'
import type { ProviderAccountDirectory } from '../../modules/ledger/index.js'
import type { PeerDirectory } from '../../modules/peers/index.js'

/** What crediting packets needs. */
export interface CreditDependencies {
  readonly database: Database
  readonly providerAccounts: ProviderAccountDirectory
  readonly clock: Clock
  readonly random: Random
  readonly counters: {
    /** Counts incoming payments that have received their full amount. */
    readonly countIncomingCompleted: (count: number) => void
  }
  /** Called after packets were credited, when there are events to be told. */
  readonly onEventsAppended: () => void
}

/** What answering packets needs. */
export interface ReceiveDependencies extends CreditDependencies {
  /** Of this provider: the addresses of its payments are below it. */
  readonly ilpAddress: string
  readonly addresses: PaymentAddresses
  readonly peers: PeerDirectory
  readonly rates: RateProvider
}
