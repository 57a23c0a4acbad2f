import { renderIncomingPayment } from '../../domain/incoming-payment.js'
import { renderOutgoingPayment } from '../../domain/outgoing-payment.js'
import { renderRefund } from '../../domain/refund.js'
import type { Collection, ResourceUrls } from '../../domain/resource-urls.js'
import type { Queries } from '../../modules/database.js'
import type { EventContent, StoredEvent } from '../../modules/events/index.js'
import { readToldIncomingPayments } from '../../modules/incoming-payments/index.js'
import { readToldOutgoingPayments } from '../../modules/outgoing-payments/index.js'
import { readToldRefunds } from '../../modules/refunds/index.js'

/** What completing events needs. */
export interface CompleteEventsDependencies {
  readonly database: Queries
  readonly urls: ResourceUrls
}

/** A kind of resource that events tell of. */
interface Kind {
  /** The collection of those that may no longer be kept. */
  readonly collection: Collection
  /** The resource of each event, rendered, in their order; undefined for one that is no longer kept. Its `id` is its URL. */
  readonly read: (events: readonly StoredEvent[]) => Promise<readonly ({ readonly id: string } | undefined)[]>
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
      collection: 'incoming-payments',
      read: async (told) =>
        (await readToldIncomingPayments(database, told, urls)).map(
          (payment) => payment && renderIncomingPayment(payment, urls, 'full')
        )
    },
    outgoing_payment: {
      collection: 'outgoing-payments',
      read: async (told) =>
        (await readToldOutgoingPayments(database, told, urls)).map(
          (payment) => payment && renderOutgoingPayment(payment, urls, 'full')
        )
    },
    refund: {
      collection: 'outgoing-payments',
      read: async (told) =>
        (await readToldRefunds(database, told)).map((refund) => refund && renderRefund(refund, urls))
    }
  }
  const contents = new Map<StoredEvent, EventContent>()
  for (const [name, { collection, read }] of Object.entries(kinds)) {
    const told = events.filter(({ type }) => type.startsWith(`${name}.`))
    const resources = await read(told)
    told.forEach((event, index) => {
      const resource = resources[index]
      const subject = resource?.id ?? urls.of(collection, event.subjectId)
      contents.set(event, { subject, data: resource ?? null })
    })
  }
  return events.map((event) => {
    const content = contents.get(event)
    if (content === undefined) throw new Error(`nothing is known to tell of with ${event.type}`)
    return content
  })
}
