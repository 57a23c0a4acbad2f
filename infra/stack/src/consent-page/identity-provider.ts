import { z } from 'zod'

/** How long the auth server may take to answer, in milliseconds. */
const ANSWER_TIMEOUT_MS = 5_000
/** Maximum length of an answer, in characters. */
const ANSWER_LENGTH_MAX = 262_144

const amount = z.object({ value: z.string(), assetCode: z.string(), assetScale: z.number() })

const accessItem = z.object({
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
    .nullish()
})

const grantDetails = z.object({
  access: z.array(accessItem).default([]),
  /** The client. The reference implementation leaves it out. */
  client: z
    .union([z.string(), z.looseObject({ walletAddress: z.string().optional() })])
    .nullish()
    .transform((client) => (typeof client === 'string' ? client : client?.walletAddress)),
  /** The name that the client gave itself. The reference implementation leaves it out. */
  clientName: z.string().nullish(),
  /** Whose consent it is. The reference implementation leaves it out. */
  walletAddress: z.string().nullish(),
  /** Until when it can be decided. The reference implementation leaves it out. */
  expiresAt: z.iso
    .datetime({ offset: true })
    .nullish()
    .transform((instant) => (typeof instant === 'string' ? new Date(instant) : undefined)),
  subject: z.object({ sub_ids: z.array(z.object({ id: z.string(), format: z.string() })) }).nullish(),
  state: z.string()
})

const acceptance = z.object({ finishCode: z.string().regex(/^[A-Za-z0-9_-]{1,512}$/) })

/** An access item as a client asks for it (interface 2.3). */
export type AskedAccessItem = z.output<typeof accessItem>

/** A client's request for consent. */
export type GrantDetails = z.output<typeof grantDetails>

/** The parts of an interaction's address. */
export interface InteractionAddress {
  readonly interactId: string
  readonly nonce: string
}

/** An interaction that can no longer be decided, or does not exist. */
export class InteractionOver extends Error {
  override readonly name = 'InteractionOver'

  /** @param reason `unknown`: there is none at this address; `ended`: it was decided or has expired */
  constructor(readonly reason: 'unknown' | 'ended') {
    super(`the interaction is ${reason}`)
  }
}

/** The auth server cannot be reached, refuses our secret, or gives an answer that is not in the API. */
export class IdentityProviderUnavailable extends Error {
  override readonly name = 'IdentityProviderUnavailable'
}

/** The part of the auth server's identity-provider API that a consent page needs. */
export interface IdentityProvider {
  /**
   * Returns the client's request.
   *
   * @throws InteractionOver, IdentityProviderUnavailable
   */
  getGrant(address: InteractionAddress): Promise<GrantDetails>
  /**
   * Records that the account holder agreed.
   *
   * @returns the finish code: the interaction finishes only in a browser that has it
   * @throws InteractionOver, IdentityProviderUnavailable
   */
  accept(address: InteractionAddress): Promise<string>
  /**
   * Records that the account holder declined.
   *
   * @throws InteractionOver, IdentityProviderUnavailable
   */
  reject(address: InteractionAddress): Promise<void>
}

/**
 * Talks to the identity-provider API over HTTP.
 *
 * @param options.api its base URL
 * @param options.secret value of `x-idp-secret`
 */
export function createIdentityProvider(options: { api: string; secret: string }): IdentityProvider {
  const call = async (
    address: InteractionAddress,
    method: string,
    choice = '',
    json?: object
  ): Promise<string> => {
    const path = ['grant', address.interactId, address.nonce, choice].filter((part) => part !== '')
    const url = new URL(path.map(encodeURIComponent).join('/'), ensureTrailingSlash(options.api))
    const response = await fetchFrom(url, {
      method,
      headers: {
        'x-idp-secret': options.secret,
        ...(json === undefined ? {} : { 'content-type': 'application/json' })
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) })
    })
    const body = await readAnswer(response)
    if (response.ok) return body
    if (response.status === 404) throw new InteractionOver('unknown')
    // 401 means that our secret is wrong, which is not the account holder's fault, or that the grant has ended.
    const isOurFault = response.status === 401 && errorCode(body) !== 'user_denied'
    if (response.status < 500 && !isOurFault) throw new InteractionOver('ended')
    throw new IdentityProviderUnavailable(`${method} ${url.origin} answered ${String(response.status)}`)
  }
  return {
    async getGrant(address) {
      return read(grantDetails, await call(address, 'GET'))
    },
    async accept(address) {
      const body = await call(address, 'POST', 'accept', { finishCode: true })
      return read(acceptance, body).finishCode
    },
    async reject(address) {
      await call(address, 'POST', 'reject')
    }
  }
}

function read<Schema extends z.ZodType>(schema: Schema, body: string): z.output<Schema> {
  try {
    return schema.parse(JSON.parse(body))
  } catch (error) {
    throw new IdentityProviderUnavailable('the answer is not one of the API', { cause: error })
  }
}

function errorCode(body: string): unknown {
  try {
    return (JSON.parse(body) as { error?: { code?: unknown } } | null)?.error?.code
  } catch {
    return undefined
  }
}

function ensureTrailingSlash(url: string): string {
  return url.endsWith('/') ? url : `${url}/`
}

async function fetchFrom(url: URL, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) })
  } catch (error) {
    throw new IdentityProviderUnavailable(`${url.origin} cannot be reached`, { cause: error })
  }
}

async function readAnswer(response: Response): Promise<string> {
  try {
    const body = await response.text()
    if (body.length <= ANSWER_LENGTH_MAX) return body
  } catch (error) {
    throw new IdentityProviderUnavailable('the answer broke off', { cause: error })
  }
  throw new IdentityProviderUnavailable('the answer is too long')
}
