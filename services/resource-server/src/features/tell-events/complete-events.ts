import { renderIncomingPayment } from '../../domain/incoming-payment.js'
import { renderOutgoingPayment } from '../../domain/outgoing-payment.js'
import { renderTime } from '../../domain/representation.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { Queries } from '../../modules/database.js'
import type { EventContent, StoredEvent } from '../../modules/events/index.js'
import { readToldIncomingPayments } from '../../modules/incoming-payments/index.js'
import { readToldAccounts, type ToldAccount } from '../../modules/ledger/index.js'
import { readToldOutgoingPayments } from '../../modules/outgoing-payments/index.js'
import { readToldWalletAddresses, type ToldWalletAddress } from '../../modules/wallet-addresses/index.js'

/** What completing events needs. */
export interface CompleteEventsDependencies {
  readonly database: Queries
  readonly urls: ResourceUrls
}

/** A kind of resource that events tell of. */
interface Kind {
  /** URL of the resource with an id (UUID), which was read if it is still kept. */
  readonly subjectOf: (id: string, resource: object | undefined) => string
  /** The resource of each event, rendered, in their order; undefined for one that is no longer kept. */
  readonly read: (events: readonly StoredEvent[]) => Promise<readonly (object | undefined)[]>
}

/**
 * Completes events with the resources that they tell of, as the API showed them then: one statement for each kind of resource.
 *
 * @returns the content of each event, in their order
 */
export async function completeEvents(
  events: readonly StoredEvent[],
  { database, urls }: CompleteEventsDependencies
): Promise<readonly EventContent[]> {
  const kinds: Readonly<Record<string, Kind>> = {
    incoming_payment: {
      subjectOf: (id) => urls.of('incoming-payments', id),
      read: async (told) =>
        (await readToldIncomingPayments(database, told, urls)).map(
          (payment) => payment && renderIncomingPayment(payment, urls, 'full')
        )
    },
    outgoing_payment: {
      subjectOf: (id) => urls.of('outgoing-payments', id),
      read: async (told) =>
        (await readToldOutgoingPayments(database, told, urls)).map(
          (payment) => payment && renderOutgoingPayment(payment, urls, 'full')
        )
    },
    account: {
      subjectOf: urnOf,
      read: async (told) => (await readToldAccounts(database, told)).map(renderAccount)
    },
    wallet_address: {
      subjectOf: (id, resource) =>
        resource !== undefined && 'id' in resource ? String(resource.id) : urnOf(id),
      read: async (told) => (await readToldWalletAddresses(database, told, urls)).map(renderWalletAddress)
    }
  }
  const contents = new Map<StoredEvent, EventContent>()
  for (const [name, { subjectOf, read }] of Object.entries(kinds)) {
    const told = events.filter(({ type }) => type.startsWith(`${name}.`))
    const resources = await read(told)
    told.forEach((event, index) => {
      const resource = resources[index]
      contents.set(event, { subject: subjectOf(event.subjectId, resource), data: resource ?? null })
    })
  }
  return events.map((event) => {
    const content = contents.get(event)
    if (content === undefined) throw new Error(`nothing is known to tell of with ${event.type}`)
    return content
  })
}

/** Accounts have no URL: operators know them by their names. */
function urnOf(id: string): string {
  return `urn:uuid:${id}`
}

function renderAccount(account: ToldAccount | undefined): object | undefined {
  return (
    account && {
      id: urnOf(account.id),
      name: account.name,
      assetCode: account.asset.code,
      assetScale: account.asset.scale,
      createdAt: renderTime(account.createdAtMs),
      ...(account.freeze ?? { frozen: false })
    }
  )
}

function renderWalletAddress(walletAddress: ToldWalletAddress | undefined): object | undefined {
  return (
    walletAddress && {
      id: walletAddress.url,
      assetCode: walletAddress.asset.code,
      assetScale: walletAddress.asset.scale,
      ...walletAddress.freeze
    }
  )
}
