import { randomBytes } from 'node:crypto'
import { createSecretBox, type SecretBox } from '@open-payments-server/runtime/secret-box'

const PREFIX = 'whsec_'
const RANDOM_BYTES = 32
/** Bounds of a secret, in bytes (Standard Webhooks, "Signature scheme"). */
const BYTES_MIN = 24
const BYTES_MAX = 64

/** Draws a secret at random. */
export function drawSecret(): string {
  return `${PREFIX}${randomBytes(RANDOM_BYTES).toString('base64')}`
}

/** Whether a text is a secret that Standard Webhooks allows: `whsec_` and 24 to 64 bytes in base64. */
export function isSecret(text: string): boolean {
  if (!text.startsWith(PREFIX)) return false
  const encoded = text.slice(PREFIX.length)
  const bytes = Buffer.from(encoded, 'base64')
  return bytes.toString('base64') === encoded && bytes.length >= BYTES_MIN && bytes.length <= BYTES_MAX
}

/**
 * Encrypts the secrets of endpoints for the database.
 *
 * @param masterKeys the first encrypts; all of them decrypt
 */
export function createEndpointSecrets(masterKeys: readonly [string, ...string[]]): SecretBox {
  return createSecretBox(
    { purpose: 'webhook secrets', owner: 'webhook endpoint', setting: 'WEBHOOK_SECRET_KEY' },
    masterKeys
  )
}
