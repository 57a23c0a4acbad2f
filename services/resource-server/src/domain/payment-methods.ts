import { createHmac } from 'node:crypto'

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
  /** Id of the key its shared secret is derived from. */
  readonly sharedSecretKeyId: string
}

/** Creates the payment methods of incoming payments. */
export interface PaymentMethods {
  /** Id of the key that new payments' shared secrets are derived from. */
  readonly keyId: string
  /** The methods of a payment: unique to it, and always the same. None when its key is unknown: a wrong secret would be worse. */
  of(payment: PayableByMethods): readonly PaymentMethodWire[]
}

/** Options of {@link createPaymentMethods}. */
export interface PaymentMethodsOptions {
  /** ILP address of this provider: the prefix of every payment's address. */
  readonly ilpAddress: string
  /** The key of new payments. */
  readonly masterKey: string
  /** Other keys that payments may have been created with: earlier ones, and the next one before all replicas use it. */
  readonly otherMasterKeys: readonly string[]
  /** Called for a payment whose key is not among these, so that its shared secret cannot be derived. */
  readonly onUnknownKey: (keyId: string) => void
}

/**
 * Derives payment methods from master keys, so that they are never stored and are the same on every replica. Each payment
 * stores the id of its key, so a new key can replace an old one while payments keep their secrets.
 */
export function createPaymentMethods(options: PaymentMethodsOptions): PaymentMethods {
  const { ilpAddress, masterKey, otherMasterKeys, onUnknownKey } = options
  const keyId = nameKey(masterKey)
  const keysById = new Map([masterKey, ...otherMasterKeys].map((key) => [nameKey(key), key]))
  return {
    keyId,
    of({ id, sharedSecretKeyId }) {
      const key = keysById.get(sharedSecretKeyId)
      if (key === undefined) {
        onUnknownKey(sharedSecretKeyId)
        return []
      }
      const sharedSecret = createHmac('sha256', key).update(id).digest('base64url')
      return [{ type: 'ilp', ilpAddress: `${ilpAddress}.${id}`, sharedSecret }]
    }
  }
}

/** Identifies a key without revealing it: 64 bits, base64url. */
function nameKey(key: string): string {
  return createHmac('sha256', key).update('name of this key').digest().subarray(0, 8).toString('base64url')
}
