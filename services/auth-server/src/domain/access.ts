import { type Amount, type AmountWire, formatAmount } from '@open-payments-server/amounts'

/** Type of an access item (interface 2.3). */
export const ACCESS_TYPES = ['incoming-payment', 'outgoing-payment', 'quote'] as const

/** Type of an access item (interface 2.3). */
export type AccessType = (typeof ACCESS_TYPES)[number]

/** What may be asked for, by type. */
export const ACTIONS_BY_TYPE = {
  'incoming-payment': ['create', 'complete', 'read', 'read-all', 'list', 'list-all'],
  'outgoing-payment': ['create', 'read', 'read-all', 'list', 'list-all'],
  quote: ['create', 'read', 'read-all']
} as const satisfies Record<AccessType, readonly string[]>

/** Limits under which outgoing payments can be created (interface 2.3). */
export interface Limits {
  /** URL of the only incoming payment that may be paid. */
  readonly receiver?: string | undefined
  /** ISO 8601 repeating interval that the amounts hold for; for the whole grant when there is none. */
  readonly interval?: string | undefined
  /** Most that may be debited per interval. */
  readonly debitAmount?: Amount | undefined
  /** Most that receivers may receive per interval. */
  readonly receiveAmount?: Amount | undefined
}

/** One right that is asked for, or held (interface 2.3). */
export interface AccessItem {
  readonly type: AccessType
  readonly actions: readonly string[]
  /** URL of the wallet address it is about; about any when there is none. */
  readonly identifier?: string | undefined
  readonly limits?: Limits | undefined
}

/** An access item as it travels in JSON. */
export interface AccessItemWire {
  type: string
  actions: readonly string[]
  identifier?: string
  limits?: { receiver?: string; interval?: string; debitAmount?: AmountWire; receiveAmount?: AmountWire }
}

/** The wire form of an access item. What was not asked for is left out. */
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

/** An access item as the database keeps it: amounts in parts, their values as decimal strings. */
export interface StoredAccessItem {
  readonly type: string
  readonly actions: readonly string[]
  readonly identifier: string | null
  readonly limitReceiver: string | null
  readonly limitInterval: string | null
  readonly limitDebitValue: string | null
  readonly limitDebitCode: string | null
  readonly limitDebitScale: number | null
  readonly limitReceiveValue: string | null
  readonly limitReceiveCode: string | null
  readonly limitReceiveScale: number | null
}

/**
 * SQL that answers the access items of a grant, in their order, as JSON of {@link StoredAccessItem}s, each with its `id`.
 *
 * @param grantId the SQL of its id
 */
export function selectAccess(grantId: string): string {
  return `
  (select coalesce(json_agg(json_build_object(
            'id', a.id, 'type', a.type, 'actions', a.actions, 'identifier', a.identifier,
            'limitReceiver', a.limit_receiver, 'limitInterval', a.limit_interval,
            'limitDebitValue', a.limit_debit_value::text, 'limitDebitCode', a.limit_debit_code,
            'limitDebitScale', a.limit_debit_scale,
            'limitReceiveValue', a.limit_receive_value::text, 'limitReceiveCode', a.limit_receive_code,
            'limitReceiveScale', a.limit_receive_scale) order by a.position), '[]')
     from access_item a where a.grant_id = ${grantId})`
}

/** Takes an access item apart for the database. */
export function storeAccessItem(item: AccessItem): StoredAccessItem {
  const { debitAmount, receiveAmount } = item.limits ?? {}
  return {
    type: item.type,
    actions: item.actions,
    identifier: item.identifier ?? null,
    limitReceiver: item.limits?.receiver ?? null,
    limitInterval: item.limits?.interval ?? null,
    limitDebitValue: debitAmount?.value.toString() ?? null,
    limitDebitCode: debitAmount?.asset.code ?? null,
    limitDebitScale: debitAmount?.asset.scale ?? null,
    limitReceiveValue: receiveAmount?.value.toString() ?? null,
    limitReceiveCode: receiveAmount?.asset.code ?? null,
    limitReceiveScale: receiveAmount?.asset.scale ?? null
  }
}

/**
 * Puts an access item of the database together again. `restoreAccessItem(storeAccessItem(item))` equals `item`, except
 * that limits which limit nothing are left out.
 */
export function restoreAccessItem(stored: StoredAccessItem): AccessItem {
  const limits = withoutUndefined({
    receiver: stored.limitReceiver ?? undefined,
    interval: stored.limitInterval ?? undefined,
    debitAmount: restoreAmount(stored.limitDebitValue, stored.limitDebitCode, stored.limitDebitScale),
    receiveAmount: restoreAmount(stored.limitReceiveValue, stored.limitReceiveCode, stored.limitReceiveScale)
  })
  return {
    type: stored.type as AccessType, // only validated items are ever stored
    actions: stored.actions,
    ...(stored.identifier === null ? {} : { identifier: stored.identifier }),
    ...(Object.keys(limits).length === 0 ? {} : { limits })
  }
}

function restoreAmount(value: string | null, code: string | null, scale: number | null): Amount | undefined {
  return value === null || code === null || scale === null
    ? undefined
    : { value: BigInt(value), asset: { code, scale } }
}

function withoutUndefined(limits: Limits): Limits {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined))
}

/** Accesses that need the account holder besides those that always do: `type:action`. */
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
 * The wallet address whose account holder is asked for a grant: the one that every item which needs consent, and every
 * subject, is about.
 *
 * @returns undefined when these are about none, or about several: one consent is one holder's
 */
export function findConsentingWalletAddress(
  request: {
    readonly access: readonly AccessItem[]
    readonly subject: { readonly sub_ids: readonly { readonly id: string }[] } | undefined
  },
  configured: ConfiguredInteraction
): string | undefined {
  const [first, ...others] = new Set([
    ...request.access.flatMap((item) =>
      item.identifier !== undefined && needsInteraction([item], configured) ? [item.identifier] : []
    ),
    ...(request.subject?.sub_ids ?? []).map(({ id }) => id)
  ])
  return others.length === 0 ? first : undefined
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
