import type { AmountWire } from '@open-payments-server/value-types/amounts'

/** The limits of an access item (Open Payments). */
export interface AskedLimits {
  /** URL of the only incoming payment that may be paid. */
  readonly receiver?: string | undefined
  /** ISO 8601 repeating interval: the amounts apply to each. */
  readonly interval?: string | undefined
  readonly debitAmount?: AmountWire | undefined
  readonly receiveAmount?: AmountWire | undefined
}

/** An access item: what a client asks for, or what is granted of it. */
export interface AskedItem {
  readonly type: string
  readonly actions: readonly string[]
  readonly identifier?: string | undefined
  readonly limits?: AskedLimits | undefined
}

/** Where an interaction is found. */
export interface InteractionAddress {
  readonly interactId: string
  readonly nonce: string
}

/** How an account holder must have signed in. */
export interface SignInDemand {
  /** Maximum time since then, in seconds. */
  readonly ageMaxSeconds: number
  /** Classes, one of which it must have (`acr`); empty for any. */
  readonly acrValues: readonly string[]
}

/** What a client asks of an account holder, as the auth server tells it. */
export interface AskedGrant {
  /** UUID. */
  readonly grantId: string
  readonly access: readonly AskedItem[]
  /** URL of the wallet address whose account holder is asked. */
  readonly walletAddress: string
  /** URLs of the only incoming payments that may be paid; null for anyone that the client chooses. */
  readonly payees: readonly string[] | null
  readonly state: 'PENDING' | 'APPROVED' | 'DENIED'
  /** When what was granted ends, in milliseconds since 1970; undefined without an end, and while nothing is decided. */
  readonly endsAtMs: number | undefined
  /** From then on it cannot be decided, in milliseconds since 1970. */
  readonly expiresAtMs: number
  /** URL of the client's wallet address. */
  readonly client: string
  /** What the client calls itself. */
  readonly clientName: string
  /** Origin of the page of the client where the browser ends; null when it ends here. */
  readonly returnOrigin: string | null
  /** Whether an acceptance must prove the consent, must not, or may. */
  readonly consentProof: 'none' | 'required' | 'either'
  /** How they must have signed in for it to be proved; null when that does not matter. */
  readonly signIn: SignInDemand | null
  /** URLs that the client learns to be the account holder's. */
  readonly subjects: readonly string[]
  /** The consent document of everything that is asked, without language and words. */
  readonly document: Readonly<Record<string, unknown>> & { readonly authServer: string }
}

/** What the account holder decided. */
export interface Acceptance {
  /** What is granted, if it is less than was asked. */
  readonly access: readonly AskedItem[] | undefined
  /** When it ends, in milliseconds since 1970; undefined when no last day was set. */
  readonly endsAtMs: number | undefined
  /** What proves it; undefined where the auth server takes none. */
  readonly proof:
    | {
        readonly idToken: string
        readonly ownership: string
        readonly document: Readonly<Record<string, unknown>>
      }
    | undefined
}

/** How deciding ended. */
export type DecisionResult =
  | { readonly outcome: 'recorded'; readonly finishCode: string | undefined }
  /** Decided already, expired, or gone. */
  | { readonly outcome: 'over' }
  /** It may be recorded: no answer says so. The request tells. */
  | { readonly outcome: 'unsure' }
  /** The auth server does not take the proof. */
  | { readonly outcome: 'unproven' }

/** What the auth server is asked about interactions. */
export interface Interactions {
  /**
   * Reads what is asked.
   *
   * @returns undefined when there is no such interaction
   * @throws ServiceAway
   */
  read(address: InteractionAddress): Promise<AskedGrant | undefined>
  /** @throws ServiceAway */
  accept(address: InteractionAddress, acceptance: Acceptance): Promise<DecisionResult>
  /** @throws ServiceAway */
  decline(address: InteractionAddress): Promise<DecisionResult>
}

/** A person, as an issuer knows them. */
export interface Person {
  /** `iss` of their ID tokens. */
  readonly issuer: string
  /** `sub` of their ID tokens. */
  readonly sub: string
}

/** Somebody who is signed in, as the services want to know them. */
export interface Claimant extends Person {
  /** Values of the claim that names accounts. */
  readonly holderClaimValues: readonly string[]
}

/** What the resource server is asked about account holders. */
export interface Holders {
  /**
   * A statement, for the auth server, that a person holds a wallet address.
   *
   * @returns undefined when they do not hold it, or it is not hosted here
   * @throws ServiceAway
   */
  stateOwnership(walletAddress: string, claimant: Claimant): Promise<string | undefined>
}

/** A service that a page needs does not answer now. */
export class ServiceAway extends Error {
  override readonly name = 'ServiceAway'
}
