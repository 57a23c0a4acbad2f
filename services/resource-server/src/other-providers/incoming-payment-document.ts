import { isIlpAddress, type StreamCredentials } from '@open-payments-server/interledger'
import { type Asset, isSameAsset, readAmount } from '@open-payments-server/value-types/amounts'
import { readBase64url } from '@open-payments-server/value-types/identifiers'
import { measuredList, measuredText } from '@open-payments-server/value-types/schemas'
import { z } from 'zod'
import { invalid } from './provider-failure.js'
import { fieldOf, httpUrl } from './schemas.js'

/** An incoming payment at another provider, as it described it. Values are in the smallest units of its asset. */
export interface RemoteReceiver {
  /** URL of the incoming payment. */
  readonly url: string
  /** URL of the receiving wallet address, which may have another origin. */
  readonly walletAddressUrl: string
  readonly asset: Asset
  /** Maximum that may be received; undefined when open. */
  readonly incomingValue: bigint | undefined
  readonly receivedValue: bigint
  readonly completed: boolean
  /** In milliseconds since the Unix epoch; undefined if it does not expire. */
  readonly expiresAtMs: number | undefined
  /** For paying it over Interledger; undefined once it is completed, or if it cannot be paid so. The secret is for us alone. */
  readonly credentials: StreamCredentials | undefined
}

/** Maximum number of payment methods of one payment. */
const METHODS_MAX = 32
/** Maximum length of the name of a payment method, in characters. */
const METHOD_TYPE_LENGTH_MAX = 64
const ILP_ADDRESS_LENGTH_MAX = 1_023
const TIME_LENGTH_MAX = 64
const SECRET_BYTES = 32
/** Characters of a secret in base64url. */
const SECRET_LENGTH = Math.ceil((SECRET_BYTES * 4) / 3)

const publicSchema = z.object({ authServer: z.string() })

const amount = z
  .object({ value: z.string(), assetCode: z.string(), assetScale: z.number() })
  .transform(readAmount)

const sharedSecret = measuredText(z.string().length(SECRET_LENGTH)).transform((text, context): Buffer => {
  const bytes = readBase64url(text, SECRET_BYTES)
  if (bytes !== undefined) return bytes
  context.addIssue({ code: 'custom', message: 'expected 32 bytes in base64url' })
  return z.NEVER
})

const ilpMethod = z.object({
  type: z.literal('ilp'),
  ilpAddress: measuredText(z.string().max(ILP_ADDRESS_LENGTH_MAX).refine(isIlpAddress)),
  sharedSecret
})

const methodType = z.object({ type: measuredText(z.string().max(METHOD_TYPE_LENGTH_MAX)) })

/** A method; undefined for one that is not Interledger. */
const method = z.unknown().transform((value, context): StreamCredentials | undefined => {
  const other = methodType.safeParse(value)
  if (other.success && other.data.type !== 'ilp') return undefined
  const { data, error } = ilpMethod.safeParse(value)
  if (data !== undefined) return { ilpAddress: data.ilpAddress, sharedSecret: data.sharedSecret }
  context.addIssue({
    code: 'custom',
    message: 'expected a payment method',
    path: error.issues[0]?.path ?? []
  })
  return z.NEVER
})

const receiverSchema = z.object({
  id: httpUrl,
  walletAddress: httpUrl,
  completed: z.boolean(),
  incomingAmount: amount.optional(),
  receivedAmount: amount,
  expiresAt: measuredText(z.iso.datetime({ offset: true }).max(TIME_LENGTH_MAX))
    .transform((text) => Date.parse(text))
    .refine((timeMs) => !Number.isNaN(timeMs))
    .optional(),
  methods: measuredList(z.array(method).max(METHODS_MAX)).optional()
})

/**
 * Reads the public form of an incoming payment.
 *
 * @returns URL of its auth server, as `URL.href` has it; undefined when it is no incoming payment
 * @throws ProviderFailure `invalid` when that is no URL
 */
export function readAuthServer(body: unknown): string | undefined {
  const { data } = publicSchema.safeParse(body)
  if (data === undefined) return undefined
  const authServer = httpUrl.safeParse(data.authServer).data
  if (authServer === undefined) throw invalid('authServer')
  return new URL(authServer).href
}

/**
 * Reads an incoming payment, as its provider shows it to a payer.
 *
 * @param url where it was read: that must be its id
 * @throws ProviderFailure `invalid`, naming the first member that is wrong
 */
export function readRemoteReceiver(body: unknown, url: string): RemoteReceiver {
  const { data, error } = receiverSchema.safeParse(body)
  if (data === undefined) throw invalid(fieldOf(error))
  const { incomingAmount, receivedAmount, completed, methods = [] } = data
  const { asset } = receivedAmount
  if (data.id !== url) throw invalid('id')
  if (incomingAmount !== undefined && !isSameAsset(incomingAmount.asset, asset))
    throw invalid('incomingAmount')
  return {
    url,
    walletAddressUrl: data.walletAddress,
    asset,
    incomingValue: incomingAmount?.value,
    receivedValue: receivedAmount.value,
    completed,
    expiresAtMs: data.expiresAt,
    credentials: completed ? undefined : methods.find((each) => each !== undefined)
  }
}
