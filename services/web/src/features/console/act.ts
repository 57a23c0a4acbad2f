import type { wallet } from '@open-payments-server/proto'
import type { Block, Fact, Field } from '../../pages/console/blocks.js'
import type { Visit } from './visit.js'

/** What is shown before an act is done. */
export interface Prepared {
  /** How things are. */
  readonly before: readonly Fact[]
  /** How they will be, as far as that can be told. */
  readonly after: readonly Fact[]
  readonly fields: readonly Field[]
  /** Further fields of the form. */
  readonly hidden?: readonly (readonly [name: string, value: string])[]
  /** Path of what the act is about. */
  readonly back: string
}

/** What is shown once a service has answered. */
export interface Performed {
  /** How things are now, as the service answered. */
  readonly now: readonly Fact[]
  /** What else the service answered. */
  readonly more?: readonly Block[]
  /** Said in place of that it is done. */
  readonly note?: string
  readonly back: string
}

/** What is asked in addition, because a service refused what was sent: it is sent again with the answers. */
export interface AskedAgain {
  /** Why it was refused. */
  readonly refusal: string
  readonly fields: readonly Field[]
}

/** Something that operators do. Its words are those of its name. */
export interface Act {
  /** The role that it needs. The services decide; who lacks it is not asked. */
  readonly role: 'viewer' | 'operator' | 'approver'
  /** @param subject what it is about, as in the address of its page */
  prepare(visit: Visit, subject: string): Promise<Prepared>
  /** The asset of the amount that it moves, where it moves one. That is shown as it was read before it is moved. */
  assetOf?(visit: Visit, subject: string): Promise<wallet.Asset | undefined>
  /** @param value what it moves, as the contract writes it; empty where it moves nothing */
  perform(visit: Visit, subject: string, value: string): Promise<Performed | AskedAgain>
}

/** Name of the field for the amount that an act moves. */
export const AMOUNT_FIELD = 'amount'

/** A field for why, which most acts have. */
export function reasonField({ t }: Visit): Field {
  return { kind: 'text', name: 'reason', label: t('why'), value: '' }
}

/** What was typed for why. */
export function reasonOf({ fields }: Visit): string {
  return (fields.get('reason') ?? '').trim()
}
