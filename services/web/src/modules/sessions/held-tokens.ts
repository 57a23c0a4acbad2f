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
/** How long before its end a token counts as over, in milliseconds: it must last until the services have seen it. */
const SPARE_MS = 5_000

const content = z.object({ idToken: z.string() })

/** ID tokens by which people act at the services behind, kept by their browsers. */
export interface HeldTokens {
  /**
   * Keeps the token of somebody who just signed in. Returns the headers `Set-Cookie`.
   *
   * @throws RangeError for a token that is too long for cookies
   */
  keep(session: Session, idToken: string): Promise<readonly string[]>
  /** The token of a session; undefined when there is none, or it is over. */
  find(cookies: string | undefined, session: Session): Promise<string | undefined>
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
}): HeldTokens {
  const { sealer, jar, clock, listener, lifetimeSeconds } = options
  const purposeOf = ({ id }: Session): string => `${listener} token ${hashSecret(id).toString('base64url')}`
  return {
    async keep(session, idToken) {
      const sealed = await sealer.seal(purposeOf(session), { idToken }, lifetimeSeconds)
      const count = Math.ceil(sealed.length / PIECE_LENGTH)
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
      const pieces = Array.from({ length: PIECES_MAX }, (_, place) => jar.read(cookies, nameOf(place)) ?? '')
      const sealed = pieces.join('')
      const opened = sealed === '' ? undefined : await sealer.open(purposeOf(session), sealed)
      const read = content.safeParse(opened)
      if (!read.success) return undefined
      const { idToken } = read.data
      const { exp = 0 } = decodeJwt(idToken)
      return exp * 1_000 - SPARE_MS > clock.now() ? idToken : undefined
    },
    forget(cookies) {
      return jar.namesOf(cookies, COOKIE).map((name) => jar.remove(name))
    }
  }
}

function nameOf(place: number): string {
  return `${COOKIE}${String(place)}`
}
