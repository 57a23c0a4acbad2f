import { createHmac } from 'node:crypto'

/** A way to pay an incoming payment (interface 2.5). */
export interface PaymentMethodWire {
  readonly type: 'ilp'
  /** ILP address to use when establishing a STREAM connection. */
  readonly ilpAddress: string
  /** 32 bytes, base64url. */
  readonly sharedSecret: string
}

/** What the methods of an incoming payment depend on. */
export interface PayableByMethods {
  /** Id (UUID). */
  readonly id: string
  /** Which key its shared secret is derived from; undefined for one from before keys were told apart. */
  readonly sharedSecretKeyId: string | undefined
}

/** Makes the payment methods of incoming payments. */
export interface PaymentMethods {
  /** Names the key that new payments' shared secrets are derived from. */
  readonly keyId: string
  /** The methods of a payment: unique to it, and always the same. None when its key is not known. */
  of(payment: PayableByMethods): readonly PaymentMethodWire[]
}

/** What payment methods are made with. */
export interface PaymentMethodsOptions {
  /** ILP address of this provider: the prefix of every payment's own. */
  readonly ilpAddress: string
  /** The key of new payments. */
  readonly masterKey: string
  /** Those that other payments may have been made with: earlier ones, and the next one before all replicas use it. */
  readonly otherMasterKeys: readonly string[]
  /** Told of a payment whose key is not among these, so that its shared secret cannot be told. */
  readonly onUnknownKey: (keyId: string) => void
}

/**
 * Derives payment methods from master keys, so that they are never stored and every replica arrives at the same. With each
 * payment goes the name of its key, so that a new key can take the place of an old one, and payments keep their secrets.
 */
export function createPaymentMethods(options: PaymentMethodsOptions): PaymentMethods {
  const { ilpAddress, masterKey, otherMasterKeys, onUnknownKey } = options
  const keyId = nameKey(masterKey)
  const keysById = new Map([masterKey, ...otherMasterKeys].map((key) => [nameKey(key), key]))
  // Which key it was is sure only while there has been one. A wrong secret would be worse than none.
  const unnamedKeyId = otherMasterKeys.length === 0 ? keyId : 'unknown'
  return {
    keyId,
    of({ id, sharedSecretKeyId = unnamedKeyId }) {
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

/** Tells keys apart and says nothing of them: 64 bits, base64url. */
function nameKey(key: string): string {
  return createHmac('sha256', key).update('name of this key').digest().subarray(0, 8).toString('base64url')
}
