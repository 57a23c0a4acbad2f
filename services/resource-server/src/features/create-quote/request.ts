import { validate } from '@open-payments-server/http-server'
import { z } from 'zod'
import type { FixedAmount } from '../../domain/quoting.js'
import { amountSchema, urlSchema } from '../request-schemas.js'

const orderSchema = z
  .strictObject({
    walletAddress: urlSchema,
    receiver: urlSchema,
    method: z.literal('ilp'),
    receiveAmount: amountSchema.optional(),
    debitAmount: amountSchema.optional()
  })
  .refine(({ receiveAmount, debitAmount }) => receiveAmount === undefined || debitAmount === undefined, {
    path: ['debitAmount'],
    message: 'cannot be combined with receiveAmount'
  })

/** The fields of the request. */
export interface QuoteOrder {
  /** URL of the wallet address, as given. */
  readonly walletAddress: string
  /** URL of the incoming payment, as given. */
  readonly receiver: string
  readonly method: 'ilp'
  /** Undefined means whatever the receiver still lacks. */
  readonly fixed: FixedAmount | undefined
}

/**
 * Reads the body of a request to create a quote.
 *
 * @throws Refusal `invalid-field` naming each field that is wrong or unknown
 */
export function readOrder(body: Readonly<Record<string, unknown>>): QuoteOrder {
  const { receiveAmount, debitAmount, ...order } = validate(orderSchema, body)
  if (receiveAmount !== undefined) return { ...order, fixed: { side: 'receive', amount: receiveAmount } }
  if (debitAmount !== undefined) return { ...order, fixed: { side: 'debit', amount: debitAmount } }
  return { ...order, fixed: undefined }
}
