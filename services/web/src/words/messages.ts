import type { AllowedMessages } from './allowed-messages.js'

/** What a language says. Texts of a page, and sentences around values that {@link Formats} has written. */
export interface Messages {
  /** The language in itself. */
  readonly languageName: string
  readonly otherLanguage: string
  /** Between units and fractions in amounts. */
  readonly decimalSign: '.' | ','
  /** How often an amount counts anew: once in a unit, or in some (`3 months`). */
  readonly once: Readonly<Record<'year' | 'month' | 'week' | 'day' | 'hour', string>>
  readonly every: (duration: string) => string

  readonly headline: {
    readonly pay: (amount: string, payee: string) => string
    readonly payAnything: (payee: string) => string
    readonly take: (client: string, amount: string) => string
    readonly takeAnything: (client: string) => string
    /** Several items that let it pay, whose limits have a sum. */
    readonly total: (client: string, amount: string, count: number) => string
    readonly several: (client: string, count: number) => string
    readonly know: (client: string) => string
    readonly see: (client: string) => string
  }
  readonly allow: {
    readonly amount: (amount: string) => string
    readonly pay: (amount: string) => string
    readonly total: (amount: string) => string
    readonly several: (count: number) => string
    readonly other: string
  }
  readonly payeeAt: (domain: string) => string
  readonly payeeElsewhere: (domain: string) => string
  readonly payeeGone: string
  readonly facts: {
    readonly from: string
    readonly to: string
    readonly purpose: string
    readonly amount: string
    readonly until: string
    /** The last day of all that is allowed. */
    readonly ends: string
    readonly asks: string
    readonly may: string
    readonly also: string
    readonly decide: string
    readonly learns: string
  }
  readonly anyone: string
  readonly feesIncluded: (amount: string) => string
  readonly payeeGets: (amount: string) => string
  readonly noLimit: string
  readonly between: (start: string, end: string) => string
  readonly onceUntil: (end: string) => string
  readonly withoutEnd: string
  /** How long something holds that has a last day. */
  readonly untilDay: (day: string) => string
  readonly times: (count: number, end: string) => string
  readonly warnings: Readonly<
    Record<'customer' | 'anyone' | 'noLimit' | 'noEnd' | 'gone' | 'several', string>
  >
  /** By type and action of an access item. */
  readonly actions: Readonly<Record<string, string>>
  readonly unknownAction: (type: string, action: string) => string
  readonly anyWallet: string

  readonly consent: {
    readonly asks: (client: string) => string
    readonly check: string
    readonly decline: string
    readonly lessTitle: string
    readonly lessAmount: (code: string, most: string) => string
    readonly lessTimes: (most: string) => string
    readonly endless: string
    readonly lessEnd: string
    readonly leaveOut: (what: string) => string
    readonly show: string
    readonly isLess: string
    /** That a decision was sent, and that it has not arrived so far. */
    readonly isUnsure: string
    readonly undo: string
    readonly problems: Readonly<Record<'amount' | 'times' | 'end' | 'nothing', string>>
    readonly claims: (name: string) => string
    /** Where what was agreed can be seen and stopped. */
    readonly later: string
    readonly backTo: (domain: string) => string
    readonly agreed: { readonly title: string; readonly canClose: string; readonly see: string }
    readonly declined: { readonly title: string; readonly text: string; readonly canClose: string }
  }
  readonly layout: {
    readonly signedInAs: (name: string) => string
    readonly signOut: string
    readonly skip: string
  }
  /** Somebody whose name the issuer does not say. */
  readonly home: { readonly someone: string }
  readonly allowed: AllowedMessages
  readonly signIn: string
  readonly signInAsOther: string
  readonly lookAgain: string
  readonly notices: Readonly<
    Record<Notice, { readonly title: string; readonly sentences: readonly string[] }>
  >
}

/** Pages that say that something is as it is. */
export type Notice =
  | 'not-found'
  | 'incomplete'
  | 'unknown-request'
  | 'expired'
  | 'wrong-person'
  | 'other-person'
  | 'changed'
  | 'unproven'
  | 'forged'
  | 'signed-out-meanwhile'
  | 'signed-out'
  | 'sign-in-cancelled'
  | 'sign-in-lost'
  | 'unavailable'
  | 'interrupted'
  /** Something was sent, and it is not known whether it had its effect. */
  | 'unsure'
  | 'failed'
