import { OutgoingRequestError } from '@open-payments-server/http-client'
import type { Clock } from '@open-payments-server/value-types/clock'
import { LRUCache } from 'lru-cache'
import { type ProviderGrant, readGrantAnswer } from './grant-answer.js'
import type { ClientIdentity } from './identity.js'
import { failureOfRequest, ProviderFailure } from './provider-failure.js'
import type { ProviderRequests } from './requests.js'
import { withinTime } from './within-time.js'

/** Maximum number of auth servers whose tokens are kept in memory. */
const GRANTS_KEPT_MAX = 1_000
/** How long before its end a token is rotated, in milliseconds; a quarter of its lifetime if that is less. */
const ROTATION_MARGIN_MS = 60_000
/**
 * How long after a refused token was replaced the next one is not, in milliseconds. Anyone can host an incoming payment that names
 * somebody else's auth server and refuses every token: that must not make us request grants there without end.
 */
const REPLACEMENT_PAUSE_MS = 10_000

/** What we ask for: to read what we are to pay. */
const ACCESS = [{ type: 'incoming-payment', actions: ['read-all'] }]

/**
 * Keeps tokens across restarts, and shares them among replicas: at most one for each auth server. It may lose any of them at any
 * time: another one is then requested. Tokens are secrets; whoever holds one needs our key as well.
 */
export interface GrantStore {
  /**
   * The last one saved.
   *
   * @param authServer URL of the auth server, as `URL.href` has it
   */
  find(authServer: string): Promise<ProviderGrant | undefined>
  /** Saves one in place of any other. */
  save(authServer: string, grant: ProviderGrant): Promise<void>
  /** Drops what was saved. */
  forget(authServer: string): Promise<void>
}

/** What getting tokens needs. */
export interface ProviderGrantsDependencies {
  readonly requests: Pick<ProviderRequests, 'post'>
  readonly identity: Pick<ClientIdentity, 'walletAddress'>
  readonly store: GrantStore
  readonly clock: Clock
  /** Maximum time for getting a token, in milliseconds. */
  readonly timeoutMs: number
}

/**
 * Our tokens at the auth servers of other providers: one for each, used for everything that we read there. Those who need one at the
 * same time share a request. `authServer` is a URL as `URL.href` has it. Both throw ProviderFailure, and what the store throws.
 */
export interface ProviderGrants {
  /** A token that has not ended; rotated if it is about to. */
  current(authServer: string): Promise<ProviderGrant>
  /** A token in place of one that was refused; undefined when one was replaced just before. */
  replace(authServer: string, refused: ProviderGrant): Promise<ProviderGrant | undefined>
}

/** What is kept of an auth server. */
interface Kept {
  readonly grant: ProviderGrant
  /** When a refused token was last replaced, in milliseconds since the Unix epoch; undefined if none was. */
  readonly replacedAtMs: number | undefined
}

/** Gets tokens, and keeps them in memory and in the store. */
export function createProviderGrants(dependencies: ProviderGrantsDependencies): ProviderGrants {
  return new KeptGrants(dependencies)
}

class KeptGrants implements ProviderGrants {
  readonly #dependencies: ProviderGrantsDependencies
  readonly #kept = new LRUCache<string, Kept>({ max: GRANTS_KEPT_MAX })
  readonly #underWay = new Map<string, Promise<ProviderGrant>>()

  constructor(dependencies: ProviderGrantsDependencies) {
    this.#dependencies = dependencies
  }

  async current(authServer: string): Promise<ProviderGrant> {
    const kept = this.#kept.get(authServer)
    if (kept !== undefined && !this.#isDue(kept.grant)) return kept.grant
    return this.#renewOnce(authServer, undefined)
  }

  async replace(authServer: string, refused: ProviderGrant): Promise<ProviderGrant | undefined> {
    const kept = this.#kept.get(authServer)
    const isReplaced = kept !== undefined && kept.grant.accessToken !== refused.accessToken
    if (isReplaced && !this.#isDue(kept.grant)) return kept.grant
    const sinceMs = this.#dependencies.clock.now() - (kept?.replacedAtMs ?? -Infinity)
    if (sinceMs >= 0 && sinceMs < REPLACEMENT_PAUSE_MS) return undefined
    return this.#renewOnce(authServer, refused)
  }

  /** Callers that need the same share the work, which has its own time: one of them giving up does not fail the others. */
  #renewOnce(authServer: string, refused: ProviderGrant | undefined): Promise<ProviderGrant> {
    const work = JSON.stringify([authServer, refused?.accessToken])
    const underWay = this.#underWay.get(work)
    if (underWay !== undefined) return underWay
    const { timeoutMs } = this.#dependencies
    const started = withinTime(timeoutMs, undefined, (signal) =>
      this.#renew(authServer, refused, signal)
    ).finally(() => {
      this.#underWay.delete(work)
    })
    this.#underWay.set(work, started)
    return started
  }

  /** Uses what another replica saved, or rotates what is about to end, or requests a grant. */
  async #renew(
    authServer: string,
    refused: ProviderGrant | undefined,
    signal: AbortSignal
  ): Promise<ProviderGrant> {
    const { store } = this.#dependencies
    const known = [await store.find(authServer), this.#kept.get(authServer)?.grant]
    const usable = known
      .filter((grant) => grant !== undefined)
      .filter((grant) => grant.accessToken !== refused?.accessToken && !this.#hasEnded(grant))
    const fresh = usable.find((grant) => !this.#isDue(grant))
    const [due] = usable
    const rotated = fresh ?? (due && (await this.#rotate(authServer, due, signal)))
    const grant = rotated ?? (await this.#request(authServer, signal))
    // First in memory: if the store fails, this is the only copy.
    this.#keep(authServer, grant, refused)
    if (!known.includes(grant)) await store.save(authServer, grant)
    return grant
  }

  /** Rotates a token (RFC 9635 §6.1): returns the new one; the same if the auth server cannot be reached; undefined if it refuses. */
  async #rotate(
    authServer: string,
    grant: ProviderGrant,
    signal: AbortSignal
  ): Promise<ProviderGrant | undefined> {
    const { accessToken, manageUrl } = grant
    if (manageUrl === undefined) return grant
    try {
      return await this.#ask(authServer, manageUrl, { accessToken, signal })
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error
      if (error.kind === 'unreachable') return grant
      // It may have been rotated all the same.
      this.#kept.delete(authServer)
      await this.#dependencies.store.forget(authServer)
      return undefined
    }
  }

  /** Requests a grant (RFC 9635 §2). */
  #request(authServer: string, signal: AbortSignal): Promise<ProviderGrant> {
    const body = { access_token: { access: ACCESS }, client: this.#dependencies.identity.walletAddress }
    return this.#ask(authServer, authServer, { body, signal })
  }

  async #ask(
    authServer: string,
    url: string,
    request: Parameters<ProviderRequests['post']>[1]
  ): Promise<ProviderGrant> {
    const { requests, clock } = this.#dependencies
    const askedAtMs = clock.now()
    try {
      const { body } = await requests.post(url, request)
      return readGrantAnswer(body, { authServer, askedAtMs })
    } catch (error) {
      throw error instanceof OutgoingRequestError ? failureOfRequest(error, 'grant answer') : error
    }
  }

  #keep(authServer: string, grant: ProviderGrant, refused: ProviderGrant | undefined): void {
    const replacedAtMs =
      refused === undefined ? this.#kept.get(authServer)?.replacedAtMs : this.#dependencies.clock.now()
    this.#kept.set(authServer, { grant, replacedAtMs })
  }

  #hasEnded({ expiresAtMs }: ProviderGrant): boolean {
    return expiresAtMs !== undefined && this.#dependencies.clock.now() >= expiresAtMs
  }

  #isDue({ obtainedAtMs, expiresAtMs }: ProviderGrant): boolean {
    if (expiresAtMs === undefined) return false
    const marginMs = Math.min(ROTATION_MARGIN_MS, (expiresAtMs - obtainedAtMs) / 4)
    return this.#dependencies.clock.now() >= expiresAtMs - marginMs
  }
}
