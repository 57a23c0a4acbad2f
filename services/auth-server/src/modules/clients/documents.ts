import { measuredText } from '@open-payments-server/value-types/schemas'
import { parseEd25519Jwk, SignatureError } from '@open-payments-server/http-signatures'
import { z } from 'zod'
import type { PublicKey, WalletAddressDocument } from '../../domain/clients.js'
import { URL_LENGTH_MAX } from '../../domain/urls.js'

/** Maximum number of keys of one client that are read, including unusable ones. */
export const KEYS_MAX = 20
/** Maximum length of a client's name that is shown, in characters. */
const PUBLIC_NAME_LENGTH_MAX = 256
const ASSET_CODE_LENGTH_MAX = 32
const ASSET_SCALE_MAX = 255

const assetFields = {
  assetCode: measuredText(z.string().min(1).max(ASSET_CODE_LENGTH_MAX)),
  assetScale: z.number().int().min(0).max(ASSET_SCALE_MAX)
}

const walletAddressSchema = z.object({
  ...assetFields,
  id: measuredText(z.string().max(URL_LENGTH_MAX)).optional(),
  publicName: z.string().nullish(),
  authServer: measuredText(z.string().max(URL_LENGTH_MAX))
})

const jwksSchema = z.object({ keys: z.array(z.unknown()) })

const receiverSchema = z.object({ receivedAmount: z.object(assetFields) })

/** Reads a wallet address document; undefined when it is not one. */
export function readWalletAddress(body: unknown): WalletAddressDocument | undefined {
  const { data } = walletAddressSchema.safeParse(body)
  if (data === undefined) return undefined
  const { id, publicName, assetCode, assetScale, authServer } = data
  const name = readName(publicName ?? '')
  return { id, publicName: name === '' ? undefined : name, assetCode, assetScale, authServer }
}

/**
 * The displayed form of a name. Characters that cannot be stored, or change the direction of the surrounding text, are
 * dropped: a name is only for people. It is copied character by character, because a substring would keep the whole text in
 * memory.
 */
function readName(publicName: string): string {
  const isHidden = (character: string): boolean => /[\p{Cc}\p{Cf}\p{Surrogate}]/u.test(character)
  return Array.from(publicName.slice(0, PUBLIC_NAME_LENGTH_MAX), (character) =>
    isHidden(character) ? '' : character
  )
    .join('')
    .trim()
}

/**
 * The public keys of a client by identifier; imported only when used, because that takes much more memory. Keys of other
 * kinds are skipped; of two with one identifier the first counts.
 */
export type ClientKeys = ReadonlyMap<string, PublicKey>

/** Reads a JWK Set (RFC 7517 §5); undefined when it is not one. */
export function readKeys(body: unknown): ClientKeys | undefined {
  const { data } = jwksSchema.safeParse(body)
  if (data === undefined) return undefined
  const keys = new Map<string, PublicKey>()
  for (const value of data.keys.slice(0, KEYS_MAX)) {
    const key = readKey(value)
    if (key !== undefined && !keys.has(key.kid)) keys.set(key.kid, key)
  }
  return keys
}

function readKey(value: unknown): PublicKey | undefined {
  try {
    const { kid, x } = parseEd25519Jwk(value)
    return { kid, x }
  } catch (error) {
    if (error instanceof SignatureError) return undefined
    throw error
  }
}

/** Reads the asset from the public form of an incoming payment; undefined when it has none. */
export function readReceiverAsset(body: unknown): { code: string; scale: number } | undefined {
  const { data } = receiverSchema.safeParse(body)
  return data === undefined
    ? undefined
    : { code: data.receivedAmount.assetCode, scale: data.receivedAmount.assetScale }
}
