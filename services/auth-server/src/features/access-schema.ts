import { readAmount } from '@open-payments-server/value-types/amounts'
import {
  INTERVAL_LENGTH_MAX,
  IntervalError,
  parseRepeatingInterval
} from '@open-payments-server/value-types/intervals'
import { measuredList, measuredText } from '@open-payments-server/value-types/schemas'
import { z } from 'zod'
import { ACTIONS_BY_TYPE, type AccessType } from '../domain/access.js'
import { parseHttpUrl, URL_LENGTH_MAX } from '../domain/urls.js'

/** Maximum number of access items of one grant. */
const ACCESS_ITEMS_MAX = 3

const RECEIVER = /^https?:\/\/.+\/incoming-payments\/.+$/

/** An absolute http or https URL. */
export const httpUrl = measuredText(z.string().max(URL_LENGTH_MAX)).refine(
  (text) => parseHttpUrl(text) !== undefined,
  { message: 'expected an absolute http or https URL' }
)

const receiver = httpUrl.refine((text) => RECEIVER.test(text), {
  message: 'expected the URL of an incoming payment'
})

const interval = measuredText(z.string().max(INTERVAL_LENGTH_MAX)).superRefine((text, context) => {
  try {
    parseRepeatingInterval(text)
  } catch (error) {
    if (!(error instanceof IntervalError)) throw error
    context.addIssue({ code: 'custom', message: error.message })
  }
})

const amount = z
  .strictObject({ value: z.string(), assetCode: z.string(), assetScale: z.number() })
  .transform(readAmount)

const limits = z.strictObject({
  receiver: receiver.optional(),
  interval: interval.optional(),
  debitAmount: amount.optional(),
  receiveAmount: amount.optional()
})

function actionsOf(type: AccessType) {
  const actions = z.array(z.enum(ACTIONS_BY_TYPE[type])).min(1).max(ACTIONS_BY_TYPE[type].length)
  return measuredList(actions).refine((actions) => new Set(actions).size === actions.length, {
    message: 'expected each action once'
  })
}

const accessItem = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('incoming-payment'),
    actions: actionsOf('incoming-payment'),
    identifier: httpUrl.optional()
  }),
  z.strictObject({
    type: z.literal('outgoing-payment'),
    actions: actionsOf('outgoing-payment'),
    identifier: httpUrl,
    // Those that limit nothing are none, as they are kept: what is recorded of a consent must be what was granted.
    limits: limits.transform((given) => (Object.keys(given).length === 0 ? undefined : given)).optional()
  }),
  z.strictObject({
    type: z.literal('quote'),
    actions: actionsOf('quote'),
    identifier: httpUrl.optional()
  })
])

/** Rights that are requested, or granted. Items are compared as sent, like JSON Schema's `uniqueItems` except for the order of keys. */
export const access = z
  .array(z.unknown())
  .refine((items) => new Set(items.map((item) => JSON.stringify(item))).size === items.length, {
    message: 'expected each item once'
  })
  .pipe(z.array(accessItem).min(1).max(ACCESS_ITEMS_MAX))
