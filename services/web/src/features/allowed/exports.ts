import type { HttpRequest, HttpResponse } from '@open-payments-server/http-server'
import { type AmountWire, describeAmount, parseAmount } from '@open-payments-server/value-types/amounts'
import type { AllowedGrant } from '../../domain/allowed.js'
import { allOf } from '../../domain/paged.js'
import type { Payment } from '../../domain/payment.js'
import { type Download, sendDownload } from '../downloads.js'
import { requireSession } from '../forms.js'
import { type AllowedDependencies, findSomeone, listGrants, requireHeldGrant } from './someone.js'

/** Items that are read at once: as many payments as the resource server gives. */
const PAGE_SIZE = 200

type Kind = Download<unknown>['kind']

/** `GET /downloads/allowed.csv` and `.json`: all grants of somebody, newest first. */
export async function downloadGrants(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse,
  kind: Kind
): Promise<void> {
  const session = await requireSession(dependencies.site, request, response)
  if (session === undefined) return
  const someone = await findSomeone(dependencies, session)
  await sendDownload<AllowedGrant>(request, response, {
    name: 'payments-you-allow',
    kind,
    columns: GRANT_COLUMNS,
    toRows: grantRows,
    toJson: grantJson,
    pages: allOf(PAGE_SIZE, (page) => listGrants(dependencies, someone, undefined, page))
  })
}

/** `GET /downloads/payments.csv` and `.json`: all payments from wallet addresses of somebody, newest first. */
export async function downloadPayments(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse,
  kind: Kind
): Promise<void> {
  const session = await requireSession(dependencies.site, request, response)
  if (session === undefined) return
  const { issuer, sub, holderClaimValues } = session
  await sendDownload<Payment>(request, response, {
    ...{ name: 'payments', kind, columns: PAYMENT_COLUMNS, toRows: paymentRows, toJson: paymentJson },
    pages: allOf(PAGE_SIZE, (page) =>
      dependencies.wallets.payments({ issuer, sub, holderClaimValues }, undefined, page)
    )
  })
}

/** `GET /allowed/:id/payments.csv` and `.json`: those that were made under one grant. */
export async function downloadGrantPayments(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse,
  kind: Kind
): Promise<void> {
  const held = await requireHeldGrant(dependencies, request, response)
  if (held === undefined) return
  const { grant, someone } = held
  await sendDownload<Payment>(request, response, {
    name: `payments-${grant.id}`,
    ...{ kind, columns: PAYMENT_COLUMNS, toRows: paymentRows, toJson: paymentJson },
    pages: allOf(PAGE_SIZE, (page) => dependencies.wallets.payments(someone.claimant, grant.id, page))
  })
}

const GRANT_COLUMNS = [
  ...['grant', 'state', 'client', 'clientName', 'walletAddress', 'requestedAt', 'lastUsedAt', 'endsAt'],
  ...[
    'paymentsEndAt',
    'pausedAt',
    'item',
    'type',
    'actions',
    'receiver',
    'interval',
    'debitLimit',
    'debitLimitAgreed'
  ],
  ...['debitSpent', 'debitAsset', 'receiveLimit', 'receiveLimitAgreed', 'receiveSpent', 'receiveAsset']
]

/** A row for each access item; one without, for a grant that has none. */
function grantRows(grant: AllowedGrant): readonly (readonly string[])[] {
  const shared = [
    ...[grant.id, grant.state, clientText(grant), grant.clientName, grant.walletAddress],
    ...[grant.createdAtMs, grant.lastUsedAtMs, grant.endsAtMs].map(instantText),
    ...[grant.paymentsEndMs, grant.pausedAtMs].map(instantText)
  ]
  const rows = grant.items.map(({ item, consentedLimits, spentDebit, spentReceive }, place) => {
    const { receiver = '', interval = '', debitAmount, receiveAmount } = item.limits ?? {}
    return [
      ...shared,
      ...[String(place), item.type, item.actions.join(' '), receiver, interval],
      ...[debitAmount, consentedLimits?.debitAmount, spentDebit].map(decimal),
      assetText(debitAmount ?? spentDebit),
      ...[receiveAmount, consentedLimits?.receiveAmount, spentReceive].map(decimal),
      assetText(receiveAmount ?? spentReceive)
    ]
  })
  if (rows.length > 0) return rows
  return [[...shared, ...GRANT_COLUMNS.slice(shared.length).map(() => '')]]
}

function grantJson(grant: AllowedGrant): unknown {
  const { id, state, clientName, walletAddress, items } = grant
  return {
    ...{ grant: id, state, client: clientText(grant), clientName, walletAddress },
    requestedAt: instantText(grant.createdAtMs),
    lastUsedAt: instantText(grant.lastUsedAtMs) || null,
    endsAt: instantText(grant.endsAtMs) || null,
    paymentsEndAt: instantText(grant.paymentsEndMs) || null,
    pausedAt: instantText(grant.pausedAtMs) || null,
    access: items.map(({ item, consentedLimits, spentDebit, spentReceive }) => ({
      ...item,
      limitsAgreed: consentedLimits,
      spentDebitAmount: spentDebit,
      spentReceiveAmount: spentReceive
    }))
  }
}

const PAYMENT_COLUMNS = [
  ...['payment', 'grant', 'client', 'walletAddress', 'createdAt', 'state', 'failureReason', 'debitAmount'],
  ...['sentAmount', 'debitAsset', 'receiveAmount', 'receivedAmount', 'refundedAmount', 'receiveAsset'],
  ...['receiver', 'payeeWalletAddress', 'payeeName', 'description', 'refundOf']
]

function paymentRows(payment: Payment): readonly (readonly string[])[] {
  const { debit, sent, receive, received, refunded, receiver } = payment
  return [
    [
      ...[payment.url, payment.grantId, payment.client, payment.walletAddress],
      ...[instantText(payment.createdAtMs), payment.state, payment.failureReason],
      ...[debit, sent].map(decimal),
      assetText(debit),
      ...[receive, received, refunded].map(decimal),
      assetText(receive),
      ...[receiver.url, receiver.walletAddress, receiver.name, receiver.description, payment.refundOf]
    ]
  ]
}

function paymentJson(payment: Payment): unknown {
  const { receiver, failureReason, refundOf } = payment
  return {
    ...{ payment: payment.url, grant: payment.grantId, client: payment.client },
    walletAddress: payment.walletAddress,
    createdAt: instantText(payment.createdAtMs),
    state: payment.state,
    failureReason: failureReason || null,
    debitAmount: payment.debit,
    sentAmount: payment.sent,
    receiveAmount: payment.receive,
    receivedAmount: payment.received,
    refundedAmount: payment.refunded,
    receiver: receiver.url,
    payee: {
      walletAddress: receiver.walletAddress || null,
      name: receiver.name || null,
      description: receiver.description || null
    },
    refundOf: refundOf || null
  }
}

/** As payments name it: by its wallet address, or by its key. */
function clientText({ client, clientKey }: AllowedGrant): string {
  return client === '' ? `jwk:${clientKey}` : client
}

/** ISO 8601; empty without one. */
function instantText(instantMs: number | undefined): string {
  return instantMs === undefined ? '' : new Date(instantMs).toISOString()
}

/** `12.50`, exact, the same in every language; empty without one. */
function decimal(amount: AmountWire | undefined): string {
  return amount === undefined ? '' : (describeAmount(parseAmount(amount)).split(' ')[0] ?? '')
}

function assetText(amount: AmountWire | undefined): string {
  return amount?.assetCode ?? ''
}
