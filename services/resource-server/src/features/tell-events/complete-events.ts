import { renderIncomingPayment } from '../../domain/incoming-payment.js'
import { renderOutgoingPayment } from '../../domain/outgoing-payment.js'
import { renderQuote } from '../../domain/quote.js'
import { renderTime } from '../../domain/representation.js'
import type { Collection, ResourceUrls } from '../../domain/resource-urls.js'
import type { Queries } from '../../modules/database.js'
import { completeAudit, type EventContent, type StoredEvent } from '../../modules/events/index.js'
import { readToldIncomingPayments } from '../../modules/incoming-payments/index.js'
import { readToldOutgoingPayments } from '../../modules/outgoing-payments/index.js'
import { readToldQuotes } from '../../modules/quotes/index.js'
import { readToldKeys, type ToldKey } from '../../modules/wallet-addresses/index.js'

/** What completing events needs. */
export interface CompleteEventsDependencies {
  readonly database: Queries
  readonly urls: ResourceUrls
}

/** Completes the events of one kind of resource, in their order. */
type CompleteKind = (events: readonly StoredEvent[]) => Promise<readonly EventContent[]>

/**
 * Completes events with the resources that they tell of, as the API showed them then: one statement for each kind of resource.
 *
 * @returns the content of each event, in their order
 */
export async function completeEvents(
  events: readonly StoredEvent[],
  { database, urls }: CompleteEventsDependencies
): Promise<readonly EventContent[]> {
  const kinds: Readonly<Record<string, CompleteKind>> = {
    incoming_payment: completeResources(urls, 'incoming-payments', async (told) =>
      (await readToldIncomingPayments(database, told, urls)).map(
        (payment) => payment && renderIncomingPayment(payment, urls, 'full')
      )
    ),
    outgoing_payment: completeResources(urls, 'outgoing-payments', async (told) =>
      (await readToldOutgoingPayments(database, told, urls)).map(
        (payment) => payment && renderOutgoingPayment(payment, urls, 'full')
      )
    ),
    quote: completeResources(urls, 'quotes', async (told) =>
      (await readToldQuotes(database, told, urls)).map((quote) => quote && renderQuote(quote, urls))
    ),
    key: async (told) => (await readToldKeys(database, told)).map((key) => renderKey(key, urls)),
    audit: (told) => Promise.resolve(told.map(completeAudit))
  }
  const contents = new Map<StoredEvent, EventContent>()
  for (const [name, complete] of Object.entries(kinds)) {
    const told = events.filter(({ type }) => type.startsWith(`${name}.`))
    const completed = await complete(told)
    told.forEach((event, index) => {
      const content = completed[index]
      if (content !== undefined) contents.set(event, content)
    })
  }
  return events.map((event) => {
    const content = contents.get(event)
    if (content === undefined) throw new Error(`nothing is known to tell of with ${event.type}`)
    return content
  })
}

/** @param read the resource of each event, rendered, in their order; undefined for one that is no longer kept */
function completeResources(
  urls: ResourceUrls,
  collection: Collection,
  read: (events: readonly StoredEvent[]) => Promise<readonly (object | undefined)[]>
): CompleteKind {
  return async (events) => {
    const resources = await read(events)
    return events.map(({ subjectId }, index) => ({
      subject: urls.of(collection, subjectId),
      data: resources[index] ?? null
    }))
  }
}

function renderKey({ path, kid, x, createdAtMs, revokedAtMs }: ToldKey, urls: ResourceUrls): EventContent {
  const subject = urls.ofWalletAddress(path)
  return {
    subject,
    data: {
      walletAddress: subject,
      key: { kid, alg: 'EdDSA', use: 'sig', kty: 'OKP', crv: 'Ed25519', x },
      createdAt: renderTime(createdAtMs),
      ...(revokedAtMs === undefined ? {} : { revokedAt: renderTime(revokedAtMs) })
    }
  }
}
