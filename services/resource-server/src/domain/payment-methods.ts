import type { Asset } from '@open-payments-server/value-types/amounts'

/** A way to pay an incoming payment (interface 2.5). */
export interface PaymentMethodWire {
  readonly type: 'ilp'
  /** ILP address to use when establishing a STREAM connection. */
  readonly ilpAddress: string
  /** 32 bytes, base64url. */
  readonly sharedSecret: string
}

/** The fields that the methods of an incoming payment depend on. */
export interface PayableByMethods {
  /** Id (UUID). */
  readonly id: string
  readonly asset: Asset
}

/** Makes the addresses of payments. */
export interface IssuedAddresses {
  /** The address of a payment, and the secret of 32 bytes that a payer needs besides: the same each time. */
  issue(target: { readonly paymentId: string; readonly asset: Asset }): {
    readonly ilpAddress: string
    readonly sharedSecret: Buffer
  }
}

/** Creates the payment methods of incoming payments. */
export interface PaymentMethods {
  /** The methods of a payment: unique to it, and the same each time. */
  of(payment: PayableByMethods): readonly PaymentMethodWire[]
}

/** Creates payment methods from the addresses of payments, so that they are never stored and are the same on every replica. */
export function createPaymentMethods(addresses: IssuedAddresses): PaymentMethods {
  return {
    of({ id, asset }) {
      const { ilpAddress, sharedSecret } = addresses.issue({ paymentId: id, asset })
      return [{ type: 'ilp', ilpAddress, sharedSecret: sharedSecret.toString('base64url') }]
    }
  }
}
