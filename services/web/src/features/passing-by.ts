import { hashSecret, type Random, randomSecret } from '@open-payments-server/value-types/identifiers'
import type { HttpRequest, HttpResponse } from '@open-payments-server/http-server'
import { z } from 'zod'
import type { Person, SignInDemand } from '../domain/grant.js'
import type { Session } from '../domain/session.js'
import type { SignedIn } from '../modules/issuer/index.js'
import { speechFor, type Site } from './site.js'

/** What a browser went to the issuer for. */
export const purpose = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('sign-in'),
    /** Path to come back to. */
    to: z.string()
  }),
  z.object({
    kind: z.literal('consent'),
    interactId: z.string(),
    nonce: z.string(),
    language: z.string(),
    changes: z.array(z.tuple([z.string(), z.string()])),
    /** What other providers said whom their receivers pay, as fields of the form. */
    payees: z.array(z.tuple([z.string(), z.string()])),
    /** Who decided. */
    issuer: z.string(),
    sub: z.string()
  }),
  z.object({
    kind: z.literal('resumption'),
    grantId: z.string(),
    /** Who wants it. */
    issuer: z.string(),
    sub: z.string()
  })
])

const pending = z.object({
  state: z.string(),
  nonce: z.string(),
  codeVerifier: z.string(),
  maxAge: z.number().optional(),
  startedMs: z.number(),
  purpose
})

export type Purpose = z.output<typeof purpose>
/** What is remembered of a browser while it is at the issuer. */
export type Pending = z.output<typeof pending>

const COOKIE = 'pending-'
/** How long somebody may take at the issuer, in seconds. */
const LIFETIME_SECONDS = 900
/** In how many tabs a browser may be at the issuer: each has a cookie, and all of them are sent with each request. */
const PENDING_MAX = 5
const STATE_LENGTH = 22

/** What a browser goes to the issuer for, and what the issuer is asked for. */
export interface PassingBy {
  readonly purpose: Purpose
  /** The nonce of the ID token; random unless given. */
  readonly nonce?: string
  /** How long ago the sign-in may be, in seconds. */
  readonly maxAge?: number
  /** Further parameters of the request, such as `prompt`. */
  readonly parameters?: Readonly<Record<string, string>>
  /** What somebody consents to by it, for an issuer that takes such details. */
  readonly details?: readonly Readonly<Record<string, unknown>>[]
}

/** What the issuer is asked for. A sign-in may get as old again before the auth server looks at it. */
export function demandOf(signIn: SignInDemand | null): Pick<PassingBy, 'maxAge' | 'parameters'> {
  if (signIn === null) return {}
  const { ageMaxSeconds, acrValues } = signIn
  const maxAge = Math.floor(ageMaxSeconds / 2)
  return { maxAge, parameters: acrValues.length === 0 ? {} : { acr_values: acrValues.join(' ') } }
}

/** Whether whoever wanted something is who is signed in here, and who confirmed it at the issuer. */
export function isOfOnePerson(
  wantedBy: Person,
  session: Session | undefined,
  { claims }: SignedIn
): session is Session {
  const people = [session, { issuer: claims.iss, sub: claims.sub }]
  return people.every((each) => each?.issuer === wantedBy.issuer && each.sub === wantedBy.sub)
}

/**
 * Sends the browser to the issuer. What it goes there for is in an encrypted cookie that is named by the `state`, so that several
 * tabs do not mix.
 *
 * @throws ServiceAway
 */
export async function passBy(
  site: Site,
  request: HttpRequest,
  response: HttpResponse,
  options: PassingBy
): Promise<void> {
  const { jar, sealer, issuer, clock, random, listener } = site
  const { purpose: of, maxAge, parameters, details = [] } = options
  const content: Pending = {
    state: randomSecret(random),
    nonce: options.nonce ?? randomSecret(random),
    codeVerifier: newCodeVerifier(random),
    startedMs: clock.now(),
    purpose: of,
    ...(maxAge === undefined ? {} : { maxAge })
  }
  const url = await issuer.signInUrl({
    state: content.state,
    nonce: content.nonce,
    codeVerifier: content.codeVerifier,
    parameters: {
      ui_locales: speechFor(site, request).language,
      ...(maxAge === undefined ? {} : { max_age: String(maxAge) }),
      ...parameters
    },
    details
  })
  await forgetOldest(site, request, response)
  const sealed = await sealer.seal(`${listener} pending`, content, LIFETIME_SECONDS)
  response.addField('Set-Cookie', jar.write(cookieOf(content.state), sealed, LIFETIME_SECONDS))
  response.seeOther(url)
}

/** What a browser that comes back with a `state` went away for, once: the cookie is removed. */
export async function comeBack(
  site: Site,
  request: HttpRequest,
  response: HttpResponse,
  state: string
): Promise<Pending | undefined> {
  const name = cookieOf(state)
  const found = await openPending(site, request, name)
  if (found?.state !== state) return undefined
  response.addField('Set-Cookie', site.jar.remove(name))
  return found
}

async function openPending(site: Site, request: HttpRequest, name: string): Promise<Pending | undefined> {
  const sealed = site.jar.read(request.get('cookie'), name)
  const opened = sealed === undefined ? undefined : await site.sealer.open(`${site.listener} pending`, sealed)
  return pending.safeParse(opened).data
}

async function forgetOldest(site: Site, request: HttpRequest, response: HttpResponse): Promise<void> {
  const names = site.jar.namesOf(request.get('cookie'), COOKIE)
  if (names.length < PENDING_MAX) return
  const found = await Promise.all(
    names.map(async (name) => ({ name, startedMs: (await openPending(site, request, name))?.startedMs ?? 0 }))
  )
  found.sort((one, other) => one.startedMs - other.startedMs)
  for (const { name } of found.slice(0, names.length - PENDING_MAX + 1))
    response.addField('Set-Cookie', site.jar.remove(name))
}

function cookieOf(state: string): string {
  return `${COOKIE}${hashSecret(state).toString('base64url').slice(0, STATE_LENGTH)}`
}

/** 256 random bits (RFC 7636 §4.1). */
function newCodeVerifier(random: Random): string {
  return randomSecret(random)
}
