import { OutgoingRequestError, type PostClient, type SafeHttpClient } from '@open-payments-server/http-client'
import { z } from 'zod'
import {
  type AskedGrant,
  type DecisionResult,
  type InteractionAddress,
  type Interactions,
  ServiceAway
} from '../../domain/grant.js'

/** Maximum size of an answer to a decision, in bytes. */
const BODY_BYTES_MAX = 16_384

const amount = z.object({ value: z.string(), assetCode: z.string(), assetScale: z.number() })
const item = z.object({
  type: z.string(),
  actions: z.array(z.string()),
  identifier: z.string().optional(),
  limits: z
    .object({
      receiver: z.string().optional(),
      interval: z.string().optional(),
      debitAmount: amount.optional(),
      receiveAmount: amount.optional()
    })
    .optional()
})
const answer = z.object({
  grantId: z.uuid(),
  access: z.array(item),
  subject: z.object({ sub_ids: z.array(z.object({ id: z.string() })) }).optional(),
  walletAddress: z.string(),
  payees: z.array(z.string()).nullable(),
  state: z.enum(['PENDING', 'APPROVED', 'DENIED']),
  expiresAt: z.iso.datetime(),
  client: z.string(),
  clientName: z.string(),
  returnOrigin: z.string().nullable(),
  consentProof: z.enum(['none', 'required', 'either']),
  signIn: z.object({ ageMaxSeconds: z.int().positive(), acrValues: z.array(z.string()) }).nullable(),
  document: z.looseObject({ authServer: z.string() })
})
const accepted = z.object({ finishCode: z.string().min(1) })
const refused = z.object({
  error: z.object({ code: z.string(), details: z.record(z.string(), z.unknown()).optional() })
})

/** Members of an acceptance that prove it. */
const PROOF = ['idToken', 'ownership', 'document']

/** Interactions at the identity-provider listener of the auth server, as docs/consent-pages.md describes it. */
export function createInteractions(options: {
  readonly apiUrl: string
  readonly secret: string
  readonly json: SafeHttpClient
  readonly post: PostClient
}): Interactions {
  const { apiUrl, secret, json, post } = options
  const headers = { 'x-idp-secret': secret }
  const urlOf = ({ interactId, nonce }: InteractionAddress): string =>
    `${apiUrl.replace(/\/$/, '')}/grant/${encodeURIComponent(interactId)}/${encodeURIComponent(nonce)}`
  const decide = async (
    url: string,
    body: Readonly<Record<string, unknown>>
  ): Promise<{ status: number; body: unknown }> => {
    const sent = await asking(
      post.exchange(url, {
        headers: { ...headers, 'content-type': 'application/json' },
        body: Buffer.from(JSON.stringify(body)),
        bodyBytesMax: BODY_BYTES_MAX
      })
    )
    return { status: sent.status, body: readJson(sent.body) }
  }
  return {
    async read(address) {
      try {
        const { body } = await json.getJson(urlOf(address), { headers })
        return readGrant(body)
      } catch (error) {
        if (error instanceof OutgoingRequestError && error.status === 404) return undefined
        throw away(error)
      }
    },
    async accept(address, { access, proof }) {
      const { status, body } = await decide(`${urlOf(address)}/accept`, {
        finishCode: true,
        ...(access === undefined ? {} : { access }),
        ...proof
      })
      if (status !== 202) return refusalOf(status, body)
      const read = accepted.safeParse(body)
      if (!read.success) throw new ServiceAway('the auth server', { cause: read.error })
      return { outcome: 'recorded', finishCode: read.data.finishCode }
    },
    async decline(address) {
      const { status, body } = await decide(`${urlOf(address)}/reject`, {})
      return status === 202 ? { outcome: 'recorded', finishCode: undefined } : refusalOf(status, body)
    }
  }
}

function readGrant(body: unknown): AskedGrant {
  const { expiresAt, subject, ...grant } = answer.parse(body)
  return {
    ...grant,
    expiresAtMs: Date.parse(expiresAt),
    subjects: (subject?.sub_ids ?? []).map(({ id }) => id)
  }
}

function refusalOf(status: number, body: unknown): DecisionResult {
  const read = refused.safeParse(body)
  const code = read.success ? read.data.error.code : undefined
  if (code === 'invalid_interaction' && status === 400) return { outcome: 'over' }
  if (code === 'unknown_interaction' || code === 'user_denied') return { outcome: 'over' }
  const details = read.success ? (read.data.error.details ?? {}) : {}
  const isUnproven =
    status === 400 && Object.keys(details).some((name) => PROOF.includes(name.split('.')[0] ?? ''))
  if (isUnproven) return { outcome: 'unproven' }
  throw new ServiceAway(`the auth server answered ${String(status)} ${code ?? ''}`)
}

function readJson(body: Buffer): unknown {
  if (body.length === 0) return undefined
  try {
    return JSON.parse(body.toString('utf8'))
  } catch (error) {
    throw new ServiceAway('the auth server', { cause: error })
  }
}

async function asking<Answer>(answering: Promise<Answer>): Promise<Answer> {
  try {
    return await answering
  } catch (error) {
    throw away(error)
  }
}

function away(error: unknown): unknown {
  return error instanceof OutgoingRequestError || error instanceof z.ZodError
    ? new ServiceAway('the auth server', { cause: error })
    : error
}
