import type { AmountWire } from '@open-payments-server/value-types/amounts'

/** Whom a payment pays, as far as that is known here. Names and descriptions were chosen by others. */
export interface Receiver {
  /** URL, as it was given. */
  readonly url: string
  /** Hosted here, here but not there (any more), or at somebody else's. */
  readonly place: 'here' | 'gone' | 'elsewhere'
  /** URL of the wallet address that is paid; empty where it is not known. Elsewhere, it is what the provider said. */
  readonly walletAddress: string
  /** Public name of that; empty without one. */
  readonly name: string
  /** What an incoming payment is for; empty when nothing says. */
  readonly description: string
}

/** Describes receivers. */
export interface Receivers {
  /**
   * @param urls of wallet addresses or incoming payments, anywhere
   * @param options.asksProviders asks other providers for the wallet addresses of their receivers, which may take two seconds: only for
   *   whoever is known to hold the wallet that is to pay
   * @returns one for each URL
   * @throws ServiceAway
   */
  describe(
    urls: readonly string[],
    options: { readonly asksProviders: boolean }
  ): Promise<ReadonlyMap<string, Receiver>>
}

/** A payment from a wallet address of the person who is signed in. */
export interface Payment {
  /** URL. */
  readonly url: string
  /** UUID of the grant that it was made under. */
  readonly grantId: string
  /** URL of the client's wallet address, or `jwk:` and the thumbprint of its key. */
  readonly client: string
  /** URL of the wallet address that it is sent from. */
  readonly walletAddress: string
  readonly state: 'awaiting_approval' | 'pending' | 'completed' | 'failed'
  /** Why it failed; empty unless it did. */
  readonly failureReason: string
  /** The most that it takes, fees included. */
  readonly debit: AmountWire
  /** What it really took until now. */
  readonly sent: AmountWire
  /** What the receiver is to get. */
  readonly receive: AmountWire
  /** What the receiver really got until now. */
  readonly received: AmountWire
  /** What refunds took of that. */
  readonly refunded: AmountWire
  readonly receiver: Receiver
  /** URL of the payment that it refunds; empty unless it does. */
  readonly refundOf: string
  /** In milliseconds since 1970. */
  readonly createdAtMs: number
}
