import { z } from 'zod'
import { type Amount, type AmountWire, parseAmount } from './amount.js'
import { AmountError } from './amount-error.js'

/** For `transform`: reads an amount (interface 2.1). An issue names its member that is wrong. */
export function readAmount(wire: AmountWire, context: z.RefinementCtx): Amount {
  try {
    return parseAmount(wire)
  } catch (error) {
    if (!(error instanceof AmountError)) throw error
    context.addIssue({ code: 'custom', message: error.message, path: [error.field] })
    return z.NEVER
  }
}
