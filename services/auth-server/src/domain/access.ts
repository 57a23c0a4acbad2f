import { type Amount, type AmountWire, formatAmount } from '@open-payments-server/value-types/amounts'

/** Type of an access item (interface 2.3). */
const ACCESS_TYPES = ['incoming-payment', 'outgoing-payment', 'quote'] as const

/** Type of an access item (interface 2.3). */
export type AccessType = (typeof ACCESS_TYPES)[number]

/** Actions that may be requested, by type. */
export const ACTIONS_BY_TYPE = {
  'incoming-payment': ['create', 'complete', 'read', 'read-all', 'list', 'list-all'],
  'outgoing-payment': ['create', 'read', 'read-all', 'list', 'list-all'],
  quote: ['create', 'read', 'read-all']
} as const satisfies Record<AccessType, readonly string[]>

/** Limits under which outgoing payments can be created (interface 2.3). */
export interface Limits {
  /** URL of the only incoming payment that may be paid. */
  readonly receiver?: string | undefined
  /** ISO 8601 repeating interval to which the amounts apply; without one, they apply to the whole grant. */
  readonly interval?: string | undefined
  /** Maximum that may be debited per interval. */
  readonly debitAmount?: Amount | undefined
  /** Maximum that receivers may receive per interval. */
  readonly receiveAmount?: Amount | undefined
}

/** One right that is requested, or granted (interface 2.3). */
export interface AccessItem {
  readonly type: AccessType
  readonly actions: readonly string[]
  /** URL of the wallet address it applies to; any when undefined. */
  readonly identifier?: string | undefined
  readonly limits?: Limits | undefined
}

/** An access item on the wire. */
export interface AccessItemWire {
  type: string
  actions: readonly string[]
  identifier?: string
  limits?: { receiver?: string; interval?: string; debitAmount?: AmountWire; receiveAmount?: AmountWire }
}

/** The wire form of an access item. Members that were not requested are omitted. */
export function formatAccessItem(item: AccessItem): AccessItemWire {
  const { type, actions, identifier, limits } = item
  return {
    type,
    actions,
    ...(identifier === undefined ? {} : { identifier }),
    ...(limits === undefined ? {} : { limits: formatLimits(limits) })
  }
}

function formatLimits(limits: Limits): NonNullable<AccessItemWire['limits']> {
  const { receiver, interval, debitAmount, receiveAmount } = limits
  return {
    ...(receiver === undefined ? {} : { receiver }),
    ...(interval === undefined ? {} : { interval }),
    ...(debitAmount === undefined ? {} : { debitAmount: formatAmount(debitAmount) }),
    ...(receiveAmount === undefined ? {} : { receiveAmount: formatAmount(receiveAmount) })
  }
}

/** Accesses that need consent in addition to those that always do: `type:action`. */
export type ConfiguredInteraction = ReadonlySet<string>

/**
 * Whether an access needs the account holder's consent: every outgoing payment, every `list-all`, and what the operator
 * configured.
 */
export function needsInteraction(access: readonly AccessItem[], configured: ConfiguredInteraction): boolean {
  return access.some(
    (item) =>
      item.type === 'outgoing-payment' ||
      item.actions.includes('list-all') ||
      item.actions.some((action) => configured.has(`${item.type}:${action}`))
  )
}

/**
 * Whose grant it is. One that needs consent is of the wallet address whose account holder is asked, and tells what is spent from it:
 * others that it names, such as one where anybody may create incoming payments, may not know that.
 *
 * @returns URLs of wallet addresses
 */
export function walletAddressesOf(
  access: readonly AccessItem[],
  configured: ConfiguredInteraction
): readonly string[] {
  const consented = access.filter((item) => needsInteraction([item], configured))
  return (consented.length > 0 ? consented : access).flatMap(({ identifier }) => identifier ?? [])
}

/**
 * Reads the setting INTERACTION_REQUIRED_FOR: `type:action`, separated by commas.
 *
 * @throws Error naming the entry that is not a type and one of its actions
 */
export function parseConfiguredInteraction(text: string | undefined): ConfiguredInteraction {
  const entries = (text ?? '')
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
  const known = new Set(
    ACCESS_TYPES.flatMap((type) => ACTIONS_BY_TYPE[type].map((action) => `${type}:${action}`))
  )
  const unknown = entries.find((entry) => !known.has(entry))
  if (unknown !== undefined) {
    throw new Error(`INTERACTION_REQUIRED_FOR: "${unknown}" is not an access type and one of its actions`)
  }
  return new Set(entries)
}
