import type { ActKind, AllowedState } from '../domain/allowed.js'
import type { Payment } from '../domain/payment.js'

/** Why what somebody wants to lower cannot be. */
export type LowerProblem = 'amount' | 'higher' | 'end' | 'later' | 'nothing' | 'changed'

/** What a language says on the pages "Payments you allow". */
export interface AllowedMessages {
  readonly title: string
  readonly intro: string
  readonly none: string
  readonly noAccount: string
  readonly states: Readonly<Record<AllowedState, string>>
  readonly pausedTitle: string
  readonly inForceTitle: string
  readonly endedTitle: string
  readonly endedIntro: string
  readonly endedNone: string
  readonly endedLink: string
  readonly back: string
  readonly older: string
  readonly newest: string

  /** What a grant allows, by what it is. */
  readonly headline: {
    readonly pay: (client: string, amount: string, payee: string) => string
    readonly payAnything: (client: string, payee: string) => string
    readonly take: (client: string, amount: string) => string
    readonly takeAnything: (client: string) => string
    /** Several payments with one total. */
    readonly total: (client: string, amount: string, count: number) => string
    readonly several: (client: string, count: number) => string
    readonly know: (client: string) => string
    readonly see: (client: string) => string
  }
  /** What one that has ended allowed, by its summary. */
  readonly was: (client: string, summary: string) => string
  /** The same in a list, below the client. */
  readonly summary: {
    readonly pay: (amount: string, payee: string) => string
    readonly payAnything: (payee: string) => string
    readonly take: (amount: string) => string
    readonly takeAnything: string
    readonly total: (amount: string, count: number) => string
    readonly several: (count: number) => string
    readonly know: string
    readonly see: string
  }
  /** A client that is known only by its key. */
  readonly keyClient: (key: string) => string
  readonly spent: (spent: string, most: string) => string
  readonly spentOf: (spent: string) => string
  readonly delivered: (spent: string, most: string) => string
  readonly over: string
  readonly startsAgain: (date: string) => string
  readonly begins: (date: string) => string
  readonly endsOn: (day: string) => string
  /** Of one under which nothing is paid after a day, and which does not end with it. */
  readonly paysUntil: (day: string) => string
  /** The mark of one under which nothing is paid any more, and which has not ended. */
  readonly paymentsOver: string
  /** What is left of it. */
  readonly mayStill: (what: string) => string
  readonly endedOn: (day: string) => string
  /** Without an end that an account holder set. */
  readonly noEndSet: string
  readonly pausedSince: (instant: string) => string
  readonly lastUsed: (instant: string) => string
  readonly neverUsed: string

  readonly facts: {
    readonly client: string
    readonly state: string
    readonly spent: string
    readonly agreed: string
    readonly ends: string
    readonly lastUsed: string
    readonly asked: string
    readonly reference: string
    readonly by: string
    readonly when: string
    readonly before: string
    readonly after: string
    readonly what: string
  }
  readonly you: (name: string) => string
  readonly coHolder: string
  /** Of a grant that somebody else consented to. */
  readonly ofAnother: string
  readonly pauseOfAnother: string

  readonly detailTitle: string
  readonly pause: string
  readonly resume: string
  readonly lower: string
  readonly stop: string
  readonly pauseMeans: string
  readonly resumeMeans: string
  /** Of one that has ended by itself. */
  readonly stopEnded: string
  readonly paymentsTitle: string
  readonly noPayments: string
  readonly historyTitle: string
  readonly noHistory: string
  readonly noHistoryOfAnother: string
  readonly receiptLink: string
  readonly downloads: {
    readonly title: string
    readonly grants: string
    readonly payments: string
  }

  readonly paymentStates: Readonly<Record<Payment['state'], string>>
  /** By reason. */
  readonly failures: Readonly<Record<string, string>>
  readonly failed: string
  readonly paid: (amount: string, payee: string) => string
  readonly refundOf: string
  readonly partly: (sent: string) => string
  readonly gets: (received: string) => string
  readonly refunded: (amount: string) => string

  readonly lowering: {
    readonly title: (client: string) => string
    readonly intro: string
    readonly amount: (code: string, most: string) => string
    readonly amountNone: (code: string) => string
    readonly receive: (code: string, most: string) => string
    readonly end: (last: string | undefined) => string
    readonly button: string
    readonly back: string
    readonly problems: Readonly<Record<LowerProblem, string>>
  }
  readonly stopping: {
    readonly title: (client: string) => string
    readonly means: (client: string) => readonly string[]
    readonly button: string
    readonly back: string
  }
  readonly acts: Readonly<Record<ActKind, string>>
  readonly receipt: {
    /** Of what the person who is signed in did. */
    readonly title: Readonly<Record<ActKind, string>>
    /** Of what somebody else did who holds the wallet, or held it. */
    readonly titleOfAnother: Readonly<Record<ActKind, string>>
    readonly means: Readonly<Record<ActKind, string>>
    readonly keep: string
    readonly agreedTitle: string
    readonly agreedIntro: string
    readonly howToStop: (place: string) => string
    readonly back: string
  }
  /** Something that is otherwise than the page said on which somebody acted. */
  readonly meanwhile: {
    readonly changed: string
    readonly ended: string
    readonly unsure: string
    readonly repeat: string
    readonly look: string
  }
}
