import { validate } from '@open-payments-server/http-server'
import { z } from 'zod'
import { amountSchema, instantSchema, metadataSchema, urlSchema } from '../request-schemas.js'
import { invalidField } from '../../domain/errors.js'

/** How far ahead an incoming payment may expire: 10 years, in milliseconds. */
const EXPIRY_AHEAD_MAX_MS = 10 * 365 * 86_400_000

const orderSchema = z.strictObject({
  walletAddress: urlSchema.optional(),
  incomingAmount: amountSchema
    .refine((amount) => amount.value > 0n, { path: ['value'], message: 'must be greater than 0' })
    .optional(),
  expiresAt: instantSchema.optional(),
  metadata: metadataSchema.optional()
})

/** The fields of the request (interface 4.4), all optional. */
export type IncomingPaymentOrder = z.output<typeof orderSchema>

/**
 * Reads the body of a request to create an incoming payment.
 *
 * @throws Refusal `invalid-field` naming each field that is wrong or unknown
 */
export function readOrder(body: Readonly<Record<string, unknown>>, nowMs: number): IncomingPaymentOrder {
  const order = validate(orderSchema, body)
  if (order.expiresAt !== undefined && order.expiresAt > nowMs + EXPIRY_AHEAD_MAX_MS) {
    throw invalidField('expiresAt', 'must be at most 10 years ahead')
  }
  return order
}
