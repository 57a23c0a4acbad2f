import { z } from 'zod'
import { type Amount, AmountError, type AmountWire, parseAmount } from '../amounts/index.js'

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
