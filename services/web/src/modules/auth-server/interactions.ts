import { OutgoingRequestError, type PostClient, type SafeHttpClient } from '@open-payments-server/http-client'
import type { Logger } from '@open-payments-server/runtime'
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
  endsAt: z.iso.datetime().nullish(),
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
  readonly post: Pick<PostClient, 'exchange'>
  readonly logger: Pick<Logger, 'warn'>
}): Interactions {
  const { apiUrl, secret, json, post, logger } = options
  const headers = { 'x-idp-secret': secret }
  const urlOf = ({ interactId, nonce }: InteractionAddress): string =>
    `${apiUrl.replace(/\/$/, '')}/grant/${encodeURIComponent(interactId)}/${encodeURIComponent(nonce)}`
  const decide = async (
    url: string,
    decision: Readonly<Record<string, unknown>>,
    recorded: (said: unknown) => DecisionResult
  ): Promise<DecisionResult> => {
    try {
      const { status, body } = await post.exchange(url, {
        headers: { ...headers, 'content-type': 'application/json' },
        body: Buffer.from(JSON.stringify(decision)),
        bodyBytesMax: BODY_BYTES_MAX
      })
      const said = readJson(body)
      return status === 202 ? recorded(said) : refusalOf(status, said)
    } catch (error) {
      if (!mayBeRecorded(error)) throw away(error)
      logger.warn({ err: error }, 'it is not known whether a decision was recorded')
      return { outcome: 'unsure' }
    }
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
    accept: (address, { access, endsAtMs, proof }) =>
      decide(
        `${urlOf(address)}/accept`,
        {
          finishCode: true,
          ...(access === undefined ? {} : { access }),
          ...(endsAtMs === undefined ? {} : { endsAt: new Date(endsAtMs).toISOString() }),
          ...proof
        },
        (said) => ({ outcome: 'recorded', finishCode: accepted.parse(said).finishCode })
      ),
    decline: (address) =>
      decide(`${urlOf(address)}/reject`, {}, () => ({ outcome: 'recorded', finishCode: undefined }))
  }
}

/** Whether what failed may have happened after a decision was recorded. */
function mayBeRecorded(error: unknown): boolean {
  if (error instanceof OutgoingRequestError) return !error.isUnsent
  return error instanceof z.ZodError
}

function readJson(body: Buffer): unknown {
  if (body.length === 0) return undefined
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    // What JSON.parse says has a part of the answer, which may be the finish code.
    throw new OutgoingRequestError({ reason: 'malformed', message: 'the auth server did not answer JSON' })
  }
}

function readGrant(body: unknown): AskedGrant {
  const { endsAt, expiresAt, subject, ...grant } = answer.parse(body)
  return {
    ...grant,
    endsAtMs: typeof endsAt === 'string' ? Date.parse(endsAt) : undefined,
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
  const message = `the auth server answered ${String(status)} ${code ?? ''}`
  // A proxy may answer so after the auth server has recorded it.
  if (status >= 500) throw new OutgoingRequestError({ reason: 'status', message, status })
  throw new ServiceAway(message)
}

function away(error: unknown): unknown {
  return error instanceof OutgoingRequestError || error instanceof z.ZodError
    ? new ServiceAway('the auth server', { cause: error })
    : error
}
