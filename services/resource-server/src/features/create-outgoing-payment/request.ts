import { validate } from '@open-payments-server/http-server'
import type { Amount } from '@open-payments-server/value-types/amounts'
import { z } from 'zod'
import { amountSchema, metadataSchema, urlSchema } from '../request-schemas.js'

/** The two forms of the request; both name the paying wallet address (interface 4.3). */
export type OutgoingPaymentOrder = OrderFromQuote | OrderFromIncomingPayment

/** A payment on the terms of a quote. */
export interface OrderFromQuote {
  readonly form: 'quote'
  /** URL of the wallet address, as given. */
  readonly walletAddress: string
  /** URL of the quote, as given. */
  readonly quoteId: string
  /** URL of the outgoing payment that it refunds, as given. */
  readonly refundOf: string | undefined
  readonly metadata: Readonly<Record<string, unknown>> | undefined
}

/** A payment of a fixed debit to an incoming payment. */
export interface OrderFromIncomingPayment {
  readonly form: 'incoming-payment'
  /** URL of the wallet address, as given. */
  readonly walletAddress: string
  /** URL of the incoming payment, as given. */
  readonly incomingPayment: string
  readonly debitAmount: Amount
  /** URL of the outgoing payment that it refunds, as given. */
  readonly refundOf: string | undefined
  readonly metadata: Readonly<Record<string, unknown>> | undefined
}

const optional = { refundOf: urlSchema.optional(), metadata: metadataSchema.optional() }

const fromQuote = z
  .strictObject({ walletAddress: urlSchema, quoteId: urlSchema, ...optional })
  .transform((body): OrderFromQuote => ({
    form: 'quote',
    ...body,
    refundOf: body.refundOf,
    metadata: body.metadata
  }))
const fromIncomingPayment = z
  .strictObject({
    walletAddress: urlSchema,
    incomingPayment: urlSchema,
    debitAmount: amountSchema,
    ...optional
  })
  .transform((body): OrderFromIncomingPayment => ({
    form: 'incoming-payment',
    ...body,
    refundOf: body.refundOf,
    metadata: body.metadata
  }))

/**
 * Reads the body of a request to create an outgoing payment. `quoteId` decides the form, so that errors name the fields
 * that do not belong to it.
 *
 * @throws Refusal `invalid-field` naming each field that is wrong, missing or not of this form
 */
export function readOrder(body: Readonly<Record<string, unknown>>): OutgoingPaymentOrder {
  return 'quoteId' in body ? validate(fromQuote, body) : validate(fromIncomingPayment, body)
}
