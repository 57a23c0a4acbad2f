import { createHash } from 'node:crypto'
import type { SharedStore } from '@open-payments-server/shared-store'
import type { Clock } from '@open-payments-server/value-types/clock'
import { hashSecret, type Random, randomSecret } from '@open-payments-server/value-types/identifiers'
import { z } from 'zod'
import type { Session } from '../../domain/session.js'
import type { CookieJar, Sealer } from '../cookies/index.js'

const COOKIE = 'session'
/** How long somebody may be on the way from the issuer, in seconds: as long as they may take there, and a tolerance of clocks. */
const ON_THE_WAY_SECONDS = 960
/** Longest name that is kept, in characters: cookies have about 4,000 bytes. */
const NAME_LENGTH_MAX = 100

const content = z.object({
  id: z.string(),
  startedSeconds: z.number(),
  issuer: z.string(),
  sub: z.string(),
  name: z.string().optional(),
  holderClaimValues: z.array(z.string()),
  issuerSession: z.string().optional(),
  roles: z.array(z.string())
})

/** Who is signed in, in a browser. */
export interface Sessions {
  /**
   * Whoever is signed in.
   *
   * @param cookies the header `Cookie`
   * @throws SharedStoreUnavailable when it cannot be told whether they signed out
   */
  find(cookies: string | undefined): Promise<Session | undefined>
  /** Signs somebody in: a new session. Returns it, and the header `Set-Cookie`. */
  start(person: Omit<Session, 'id' | 'startedSeconds'>): Promise<{ session: Session; cookie: string }>
  /**
   * Signs out, for good: also whoever copied the cookie. Returns the header `Set-Cookie`.
   *
   * @throws SharedStoreUnavailable when that cannot be recorded
   */
  end(session: Session): Promise<string>
  /**
   * Signs out whoever signed in within a session at the issuer, now that this has ended.
   *
   * @param issuerSession its `sid`
   * @throws SharedStoreUnavailable when that cannot be recorded
   */
  endOfIssuer(issuerSession: string): Promise<void>
  /** What a form of a session carries: only pages for this session have it. */
  formToken(session: Session, purpose: string): string
  /** Whether a form carries it. */
  isFormToken(session: Session, purpose: string, token: string): boolean
}

/** Sessions in encrypted cookies. Those that ended early are marked in the shared store until they would have expired. */
export function createSessions(options: {
  sealer: Sealer
  jar: CookieJar
  sharedStore: Pick<SharedStore, 'markOnce' | 'wasMarked'>
  clock: Clock
  random: Random
  /** Listener: a session of one is none of another. */
  listener: string
  lifetimeSeconds: number
}): Sessions {
  const { sealer, jar, sharedStore, clock, random, listener, lifetimeSeconds } = options
  const purpose = `${listener} session`
  const issuerKey = (issuerSession: string): string =>
    `ended-at-issuer:${hashSecret(JSON.stringify([listener, issuerSession])).toString('base64url')}`
  const formToken = ({ id }: Session, of: string): string =>
    createHash('sha256')
      .update(JSON.stringify(['form', id, of]))
      .digest('base64url')
  return {
    async find(cookies) {
      const sealed = jar.read(cookies, COOKIE)
      const opened = sealed === undefined ? undefined : await sealer.open(purpose, sealed)
      const read = content.safeParse(opened)
      if (!read.success) return undefined
      const { name, issuerSession, ...rest } = read.data
      const session = { ...rest, name, issuerSession }
      const keys = [endKey(session), ...(issuerSession === undefined ? [] : [issuerKey(issuerSession)])]
      const ended = await Promise.all(keys.map((key) => sharedStore.wasMarked(key, session.startedSeconds)))
      return ended.includes(true) ? undefined : session
    },
    async start(person) {
      const session: Session = {
        ...person,
        name: person.name?.slice(0, NAME_LENGTH_MAX),
        id: randomSecret(random),
        startedSeconds: Math.floor(clock.now() / 1_000)
      }
      const sealed = await sealer.seal(purpose, { ...session }, lifetimeSeconds)
      return { session, cookie: jar.write(COOKIE, sealed, lifetimeSeconds) }
    },
    async end(session) {
      await sharedStore.markOnce(endKey(session), lifetimeSeconds)
      return jar.remove(COOKIE)
    },
    async endOfIssuer(issuerSession) {
      // Whoever was just on the way here has a session that begins a little later.
      await sharedStore.markOnce(issuerKey(issuerSession), lifetimeSeconds + ON_THE_WAY_SECONDS)
    },
    formToken,
    isFormToken: (session, of, token) => hashSecret(token).equals(hashSecret(formToken(session, of)))
  }
}

/** The store never learns the id, which is a secret. */
function endKey({ id }: Session): string {
  return `ended:${hashSecret(id).toString('base64url')}`
}
