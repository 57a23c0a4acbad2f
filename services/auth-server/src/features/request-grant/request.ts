import { measuredList, measuredText } from '@open-payments-server/value-types/schemas'
import { type Ed25519Jwk, parseEd25519Jwk, SignatureError } from '@open-payments-server/http-signatures'
import { z } from 'zod'
import type { AccessItem } from '../../domain/access.js'
import { normalizeWalletAddress, parseHttpUrl, URL_LENGTH_MAX } from '../../domain/urls.js'
import { access, httpUrl } from '../access-schema.js'

/** Maximum length of a client's nonce, in characters. */
const NONCE_LENGTH_MAX = 256
/** Maximum number of interaction start modes that are read. */
const START_MODES_MAX = 16
const START_MODE_LENGTH_MAX = 64

const walletAddress = measuredText(z.string().max(URL_LENGTH_MAX)).transform((text, context) => {
  const normalized = normalizeWalletAddress(text)
  if (normalized !== undefined) return normalized
  context.addIssue({ code: 'custom', message: 'expected the URL of a wallet address' })
  return z.NEVER
})

const jwk = z.unknown().transform((value, context): Ed25519Jwk => {
  try {
    return parseEd25519Jwk(value)
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error
    context.addIssue({ code: 'custom', message: error.message })
    return z.NEVER
  }
})

/** How a client identifies itself: by its wallet address, or only by its key (directed identity). */
export type RequestingClient =
  | { readonly kind: 'wallet-address'; readonly walletAddress: string }
  | { readonly kind: 'key'; readonly jwk: Ed25519Jwk }

const client = z.union([
  walletAddress.transform((url): RequestingClient => ({ kind: 'wallet-address', walletAddress: url })),
  z
    .strictObject({ walletAddress })
    .transform((given): RequestingClient => ({ kind: 'wallet-address', ...given })),
  z.strictObject({ jwk }).transform((given): RequestingClient => ({ kind: 'key', ...given }))
])

/** Strictly RFC 3986, without credentials and fragment. Parsers accept more, and read it differently. */
const FINISH_URI =
  /^https?:\/\/(?<host>[\w.-]+|\[[\da-fA-F:.]+\])(?::\d+)?(?:[/?](?:[\w.~:/?[\]@!$&'()*+,;=-]|%[\da-fA-F]{2})*)?$/

/**
 * Whether browsers and every other reader of the URL go to the same place. It is sent to them as the client wrote it, and
 * an unusual spelling of a host (`0x7f.1`) may be read as another.
 */
function isPlainlySpelled(uri: string): boolean {
  const host = FINISH_URI.exec(uri)?.groups?.host
  return host !== undefined && parseHttpUrl(uri)?.hostname === host.toLowerCase()
}

const finish = z.object({
  method: z.literal('redirect'),
  uri: httpUrl.refine(isPlainlySpelled, {
    message:
      'expected a URL as RFC 3986 has it, without credentials and fragment, scheme and host in their usual spelling'
  }),
  nonce: measuredText(z.string().min(1).max(NONCE_LENGTH_MAX)),
  hash_method: z.literal('sha-256').optional()
})

const startMode = z.union([measuredText(z.string().max(START_MODE_LENGTH_MAX)), z.looseObject({})])

const interact = z.object({
  start: measuredList(z.array(startMode).max(START_MODES_MAX)).refine((modes) => modes.includes('redirect'), {
    message: 'expected to include "redirect"'
  }),
  finish: finish.optional()
})

const subject = z.object({
  sub_ids: measuredList(z.array(z.strictObject({ id: httpUrl, format: z.literal('uri') })).length(1))
})

function accessOf(token: { access: readonly AccessItem[] } | undefined): readonly AccessItem[] {
  return token?.access ?? []
}

/** A grant request (RFC 9635 §2, as far as Open Payments uses it). Everything else that RFC 9635 defines is ignored. */
export const grantRequestSchema = z
  .object({
    client,
    access_token: z.object({ access }).optional(),
    subject: subject.optional(),
    interact: interact.optional()
  })
  .refine((request) => request.access_token !== undefined || request.subject !== undefined, {
    message: 'expected access_token or subject',
    path: ['access_token']
  })
  .transform((request) => ({
    client: request.client,
    // Empty when only the subject is requested.
    access: accessOf(request.access_token),
    subject: request.subject,
    interact: request.interact === undefined ? undefined : { finish: request.interact.finish }
  }))

/** A grant request, checked. */
export type GrantRequest = z.output<typeof grantRequestSchema>
