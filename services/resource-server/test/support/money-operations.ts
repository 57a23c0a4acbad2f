import type { Manner } from './money-model-peers.js'

/** Who has an account and a wallet address: alice and bob in USD, carol in EUR. */
export const OWNERS = ['alice', 'bob', 'carol'] as const
export type Owner = (typeof OWNERS)[number]

/** What a rule is about: debits of a wallet address above a value, its first payees, or all payments of the client. */
export type ModelRule =
  | { readonly owner: Owner; readonly above: bigint }
  | { readonly owner: Owner; readonly firstPayee: true }
  | 'all of the client'

/** What can be frozen: the client of all payments, or what belongs to someone. */
export type Freezable = 'client' | { readonly what: 'account' | 'wallet address'; readonly owner: Owner }

/** An operation about what exists. Payments of both directions, rules and refunds are known by numbers, and so are their keys. */
export type Operation =
  | { readonly kind: 'deposit' | 'withdraw'; readonly owner: Owner; readonly value: bigint }
  | {
      readonly kind: 'receive'
      readonly number: number
      readonly owner: Owner
      readonly incoming: bigint | undefined
      readonly expiresAtMs: number
    }
  | { readonly kind: 'complete'; readonly incoming: number }
  | {
      readonly kind: 'pay'
      readonly number: number
      readonly owner: Owner
      readonly incoming: number
      readonly debit: bigint
      /** The payment that it refunds. */
      readonly refundOf: number | undefined
    }
  /** A payment to a new receiver at the other provider, in dollars. */
  | {
      readonly kind: 'pay elsewhere'
      readonly number: number
      readonly owner: Owner
      readonly debit: bigint
    }
  /** The request of a payment again. */
  | { readonly kind: 'repeat'; readonly payment: number }
  | { readonly kind: 'approve' | 'decline'; readonly payment: number }
  /** Has the number of an earlier refund if it has the key of that. */
  | {
      readonly kind: 'refund'
      readonly number: number
      readonly payment: number
      readonly value: bigint
      readonly returnsFee: boolean
    }
  | { readonly kind: 'freeze'; readonly of: Freezable; readonly freezes: boolean }
  | { readonly kind: 'rule'; readonly number: number; readonly rule: ModelRule }
  | { readonly kind: 'unrule'; readonly rule: number }
  | { readonly kind: 'advance'; readonly seconds: number }
  | PeerOperation

/** What the other provider does, or is done about it. */
export type PeerOperation =
  /** A packet of the peer. */
  | {
      readonly kind: 'packet'
      readonly number: number
      readonly incoming: number
      readonly value: bigint
    }
  | { readonly kind: 'packet again'; readonly packet: number }
  /** What the peer does with packets from now on. */
  | { readonly kind: 'manner'; readonly manner: Manner }
  /** What became of a packet whose answer was lost, as the peer's books say. */
  | { readonly kind: 'decide packet'; readonly payment: number; readonly arrived: boolean }
  /** What the peer may owe, or may be owed. */
  | { readonly kind: 'bound'; readonly who: 'they' | 'we'; readonly maximum: bigint | undefined }
  /** Who pays what is owed. */
  | { readonly kind: 'settle'; readonly who: 'they' | 'we'; readonly value: bigint }
