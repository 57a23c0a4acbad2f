import { renderIncomingPayment } from '../../domain/incoming-payment.js'
import { renderOutgoingPayment } from '../../domain/outgoing-payment.js'
import { renderQuote } from '../../domain/quote.js'
import { renderTime } from '../../domain/representation.js'
import { renderRefund } from '../../domain/refund.js'
import { type Collection, type ResourceUrls, urnOf } from '../../domain/resource-urls.js'
import type { Queries } from '../../modules/database.js'
import { completeAudit, type EventContent, type StoredEvent } from '../../modules/events/index.js'
import { readToldIncomingPayments } from '../../modules/incoming-payments/index.js'
import { readToldAccounts, type ToldAccount } from '../../modules/ledger/index.js'
import { readSides, readToldOutgoingPayments } from '../../modules/outgoing-payments/index.js'
import { readToldPeers, type ToldPeer } from '../../modules/peers/index.js'
import { readToldQuotes } from '../../modules/quotes/index.js'
import { readToldRefunds } from '../../modules/refunds/index.js'
import {
  readToldKeys,
  readToldWalletAddresses,
  type ToldKey,
  type ToldWalletAddress
} from '../../modules/wallet-addresses/index.js'

/** What completing events needs. */
export interface CompleteEventsDependencies {
  readonly database: Queries
  readonly urls: ResourceUrls
}

/** Completes the events of one kind of resource, in their order. */
type CompleteKind = (events: readonly StoredEvent[]) => Promise<readonly EventContent[]>

/** URL, or URN, of the resource with an id (UUID), which was read if it is still kept. */
type SubjectOf = (id: string, resource: object | undefined) => string

/**
 * Completes events with the resources that they tell of, as the API showed them then: one statement for each kind of resource.
 *
 * @returns the content of each event, in their order
 */
export async function completeEvents(
  events: readonly StoredEvent[],
  { database, urls }: CompleteEventsDependencies
): Promise<readonly EventContent[]> {
  const of =
    (collection: Collection): SubjectOf =>
    (id) =>
      urls.of(collection, id)
  const kinds: Readonly<Record<string, CompleteKind>> = {
    incoming_payment: completeResources(of('incoming-payments'), async (told) =>
      (await readToldIncomingPayments(database, told, urls)).map(
        (payment) => payment && renderIncomingPayment(payment, urls, 'full')
      )
    ),
    outgoing_payment: completeResources(of('outgoing-payments'), async (told) =>
      (await readToldOutgoingPayments(database, told, urls)).map(
        (payment) => payment && renderOutgoingPayment(payment, urls, 'full')
      )
    ),
    quote: completeResources(of('quotes'), async (told) =>
      (await readToldQuotes(database, told, urls)).map((quote) => quote && renderQuote(quote, urls))
    ),
    refund: (told) => completeRefunds(told, { database, urls }),
    key: async (told) => (await readToldKeys(database, told)).map((key) => renderKey(key, urls)),
    account: completeResources(urnOf, async (told) =>
      (await readToldAccounts(database, told)).map(renderAccount)
    ),
    wallet_address: completeResources(
      (id, resource) => (resource !== undefined && 'id' in resource ? String(resource.id) : urnOf(id)),
      async (told) => (await readToldWalletAddresses(database, told, urls)).map(renderWalletAddress)
    ),
    liquidity: completeResources(urnOf, async (told) =>
      (await readToldPeers(database, told)).map(renderPeer)
    ),
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
  subjectOf: SubjectOf,
  read: (events: readonly StoredEvent[]) => Promise<readonly (object | undefined)[]>
): CompleteKind {
  return async (events) => {
    const resources = await read(events)
    return events.map(({ subjectId }, index) => ({
      subject: subjectOf(subjectId, resources[index]),
      data: resources[index] ?? null
    }))
  }
}

/** A refund concerns both sides of the payment whose delivery it gives back, which show it. */
async function completeRefunds(
  events: readonly StoredEvent[],
  { database, urls }: CompleteEventsDependencies
): Promise<readonly EventContent[]> {
  const refunds = await readToldRefunds(database, events)
  const sides = await readSides(
    database,
    refunds.flatMap((refund) => refund?.refundOf ?? []),
    urls
  )
  return events.map(({ subjectId }, index) => {
    const refund = refunds[index]
    if (refund === undefined) return { subject: urnOf(subjectId), data: null }
    const data = renderRefund(refund, urls)
    return { subject: data.id, data, walletAddresses: sides.get(refund.refundOf) ?? [] }
  })
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

function renderAccount(account: ToldAccount | undefined): object | undefined {
  return (
    account && {
      id: urnOf(account.id),
      name: account.name,
      assetCode: account.asset.code,
      assetScale: account.asset.scale,
      createdAt: renderTime(account.createdAtMs),
      ...renderChange(account.change)
    }
  )
}

function renderChange(change: ToldAccount['change']): object {
  if (change === undefined) return { frozen: false }
  if ('frozen' in change) return change
  const { before, after, by } = change
  return { ...(before === null ? {} : { before }), ...(after === null ? {} : { after }), by }
}

function renderPeer(peer: ToldPeer | undefined): object | undefined {
  return (
    peer && {
      id: urnOf(peer.id),
      name: peer.name,
      assetCode: peer.asset.code,
      assetScale: peer.asset.scale,
      ...('payableValue' in peer
        ? { weOweValue: peer.payableValue.toString() }
        : { owedValue: peer.receivableValue.toString(), leftValue: peer.leftValue.toString() })
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
