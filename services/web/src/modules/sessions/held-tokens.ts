import type { Clock } from '@open-payments-server/value-types/clock'
import { hashSecret } from '@open-payments-server/value-types/identifiers'
import { decodeJwt } from 'jose'
import { z } from 'zod'
import type { Session } from '../../domain/session.js'
import type { CookieJar, Sealer } from '../cookies/index.js'

const COOKIE = 'token-'
/** Length of a piece, in characters: browsers keep cookies of 4,096 bytes with name and attributes. */
const PIECE_LENGTH = 3_600
/** Maximum number of pieces: all of them are sent with each request, whose header is limited. */
const PIECES_MAX = 3
/**
 * Maximum length of a hint, in characters: proxies take answers whose header has 4 kB, and requests with 8 kB. What is longer is not
 * kept.
 */
const HINT_LENGTH_MAX = 1_500
/** How long before its end a token counts as over, in milliseconds: it must last until the services have seen it. */
const SPARE_MS = 5_000

const content = z.object({ idToken: z.string() })

/** ID tokens, kept by browsers: by them operators act at the services behind, and the issuer knows who signs out. */
export interface HeldTokens {
  /**
   * Keeps the token of somebody who just signed in. Returns the headers `Set-Cookie`. One that is too long for a hint is not kept.
   *
   * @throws RangeError for a token that is too long for cookies, where people act by it
   */
  keep(session: Session, idToken: string): Promise<readonly string[]>
  /** The token of a session; undefined when there is none, or it is over. */
  find(cookies: string | undefined, session: Session): Promise<string | undefined>
  /**
   * A hint for the issuer, who signs out (`id_token_hint`), also when it is over. It is in a URL, which logs and histories keep: there is
   * none where people act by their tokens.
   */
  hint(cookies: string | undefined, session: Session): Promise<string | undefined>
  /** Forgets it. Returns the headers `Set-Cookie`. */
  forget(cookies: string | undefined): readonly string[]
}

/** Tokens in encrypted cookies. A token is that of one session: another session cannot use it. */
export function createHeldTokens(options: {
  readonly sealer: Sealer
  readonly jar: CookieJar
  readonly clock: Clock
  /** Listener: a token of one is none of another. */
  readonly listener: string
  readonly lifetimeSeconds: number
  /** Whether people act by their tokens, or these are only hints. */
  readonly areActedBy: boolean
}): HeldTokens {
  const { sealer, jar, clock, listener, lifetimeSeconds, areActedBy } = options
  const purposeOf = ({ id }: Session): string => `${listener} token ${hashSecret(id).toString('base64url')}`
  const read = async (cookies: string | undefined, session: Session): Promise<string | undefined> => {
    const pieces = Array.from({ length: PIECES_MAX }, (_, place) => jar.read(cookies, nameOf(place)) ?? '')
    const sealed = pieces.join('')
    const opened = sealed === '' ? undefined : await sealer.open(purposeOf(session), sealed)
    return content.safeParse(opened).data?.idToken
  }
  return {
    async keep(session, idToken) {
      const sealed = await sealer.seal(purposeOf(session), { idToken }, lifetimeSeconds)
      const isKept = areActedBy || sealed.length <= HINT_LENGTH_MAX
      const count = isKept ? Math.ceil(sealed.length / PIECE_LENGTH) : 0
      if (count > PIECES_MAX) throw new RangeError('the ID token is too long for cookies')
      return Array.from({ length: PIECES_MAX }, (_, place) =>
        place < count
          ? jar.write(
              nameOf(place),
              sealed.slice(place * PIECE_LENGTH, (place + 1) * PIECE_LENGTH),
              lifetimeSeconds
            )
          : jar.remove(nameOf(place))
      )
    },
    async find(cookies, session) {
      const idToken = await read(cookies, session)
      if (idToken === undefined) return undefined
      const { exp = 0 } = decodeJwt(idToken)
      return exp * 1_000 - SPARE_MS > clock.now() ? idToken : undefined
    },
    hint: (cookies, session) => (areActedBy ? Promise.resolve(undefined) : read(cookies, session)),
    forget(cookies) {
      return jar.namesOf(cookies, COOKIE).map((name) => jar.remove(name))
    }
  }
}

function nameOf(place: number): string {
  return `${COOKIE}${String(place)}`
}
