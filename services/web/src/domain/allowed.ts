import type { AmountWire } from '@open-payments-server/value-types/amounts'
import type { AskedItem, AskedLimits, Claimant, Person, SignInDemand } from './grant.js'
import type { Page, Paged } from './paged.js'
import type { Payment } from './payment.js'

/** A wallet address of somebody who is signed in. */
export interface HeldWallet {
  readonly url: string
  /** Asset of its account. */
  readonly asset: { readonly code: string; readonly scale: number }
}

/** Who acts on grants, for wallet addresses that they hold. */
export interface Acting extends Person {
  /** URLs; at least 1, at most 100. */
  readonly walletAddresses: readonly string[]
}

/** What an account holder sees of a grant: `ended` only when its client can do and see nothing by it any more. */
export type AllowedState = 'in-force' | 'paused' | 'ended'

/** An access item of a grant that was allowed, and what is spent under it. */
export interface AllowedItem {
  /** As it is in force. */
  readonly item: AskedItem
  /** As they were consented to; undefined without any. */
  readonly consentedLimits: AskedLimits | undefined
  /** Debited in the interval that runs; undefined before its first payment. */
  readonly spentDebit: AmountWire | undefined
  /** Received in it; undefined before its first payment. */
  readonly spentReceive: AmountWire | undefined
  /** The interval that runs, in milliseconds since 1970; undefined without one. */
  readonly interval: { readonly startMs: number; readonly endMs: number } | undefined
}

/** A grant that an account holder consented to, who may have been another one. Instants are in milliseconds since 1970. */
export interface AllowedGrant {
  /** UUID. */
  readonly id: string
  /** URL of the wallet address whose account holder consented. */
  readonly walletAddress: string
  /** Whether somebody else consented, as holder of the wallet before: it can only be restricted. */
  readonly isConsentOfAnother: boolean
  /** URL of the client's wallet address; empty for a client that is known only by its key. */
  readonly client: string
  /** RFC 7638 thumbprint of that key; empty for other clients. */
  readonly clientKey: string
  /** What the client called itself. */
  readonly clientName: string
  readonly state: AllowedState
  readonly items: readonly AllowedItem[]
  readonly createdAtMs: number
  /** When it was last used; undefined if never. */
  readonly lastUsedAtMs: number | undefined
  /** Whether it can be stopped, whatever its state. */
  readonly isStoppable: boolean
  /** When it ends, or ended; undefined for one that goes on until it is stopped. */
  readonly endsAtMs: number | undefined
  /** The same as it was consented to. */
  readonly consentedEndsAtMs: number | undefined
  /** From when on nothing is paid, and nothing shown that others made; undefined when that goes on until it ends. */
  readonly paymentsEndMs: number | undefined
  /** Since when it is paused; undefined unless it is. */
  readonly pausedAtMs: number | undefined
}

export type ActKind = 'paused' | 'resumed' | 'lowered' | 'stopped'

/** What an account holder can change of a grant. */
export interface Terms {
  readonly access: readonly AskedItem[]
  /** When it ends; undefined without an end. */
  readonly endsAtMs: number | undefined
}

/** An act of an account holder. */
export interface GrantAct {
  /** UUID. */
  readonly id: string
  /** Whether it was the person who asks. */
  readonly isOwn: boolean
  readonly kind: ActKind
  readonly atMs: number
  readonly before: Terms
  readonly after: Terms
}

/** What somebody confirms at the issuer to resume a grant, once. */
export interface Resumption {
  /** Canonical JSON. Its hash is the nonce of the ID token. */
  readonly document: string
  /** How they must have signed in; null when that does not matter. */
  readonly signIn: SignInDemand | null
}

/** What proves that somebody wants to resume a grant. */
export interface ResumptionProof {
  /** ID token about the document of the resumption. */
  readonly idToken: string
  /** Statement that they hold its wallet. */
  readonly ownership: string
}

/** A grant and what its account holders did with it, the newest first. */
export interface GrantWithActs {
  readonly grant: AllowedGrant
  readonly acts: readonly GrantAct[]
  /** What must be confirmed to resume it; undefined unless it is paused, and where the auth server takes no proof. */
  readonly resumption: Resumption | undefined
}

/** Lower terms of a grant. What is undefined stays as it is. */
export interface LowerTerms {
  readonly limits: readonly {
    /** Place of the item, from 0. */
    readonly place: number
    readonly debitAmount: AmountWire | undefined
    readonly receiveAmount: AmountWire | undefined
  }[]
  readonly endsAtMs: number | undefined
}

/** How an act ended. */
export type ActOutcome =
  /** It is in force everywhere. */
  | 'done'
  /** There is no such grant of this person. */
  | 'unknown'
  /** The grant has ended before. */
  | 'ended'
  /** It would allow more than is in force by now, or its end is past. */
  | 'refused'
  /** It may be recorded, and is perhaps not in force everywhere: repeating it settles that. */
  | 'unsure'

/** How an act ended that has no terms. */
export type UnconditionalOutcome = Exclude<ActOutcome, 'refused'>

/** What the auth server is asked about grants that were allowed. Every method throws ServiceAway when it does not answer. */
export interface AllowedGrants {
  /** Newest first. */
  list(acting: Acting, state: AllowedState | undefined, page: Page): Promise<Paged<AllowedGrant>>
  /** @returns undefined for one that there is not, or that is not theirs */
  find(acting: Acting, grantId: string): Promise<GrantWithActs | undefined>
  /** Pauses or stops. */
  act(acting: Acting, grantId: string, kind: 'paused' | 'stopped'): Promise<UnconditionalOutcome>
  /**
   * Resumes.
   *
   * @param wish the proof that it is wanted; or the last act that was shown (UUID; empty for none), where no proof is taken, and for a
   *   grant that is not paused
   * @returns `unproven` when the auth server does not take the proof, or somebody has acted since
   */
  resume(
    acting: Acting,
    grantId: string,
    wish: ResumptionProof | { readonly seenActId: string }
  ): Promise<UnconditionalOutcome | 'unproven'>
  lower(acting: Acting, grantId: string, terms: LowerTerms): Promise<ActOutcome>
}

/** What the resource server is asked about the person who is signed in. Every method throws ServiceAway when it does not answer. */
export interface Wallets {
  /** The wallet addresses that they hold. */
  walletsOf(claimant: Claimant): Promise<readonly HeldWallet[]>
  /** The payments that were made under a grant, or all from their wallet addresses; newest first. */
  payments(claimant: Claimant, grantId: string | undefined, page: Page): Promise<Paged<Payment>>
}
