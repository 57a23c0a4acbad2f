import type { HttpRequest, HttpResponse, Route } from '@open-payments-server/http-server'
import { z } from 'zod'
import { changeFields, limitingAmount, readChanges, repetitionsOf } from '../../domain/changes.js'
import type { AskedGrant, Holders, InteractionAddress, Interactions } from '../../domain/grant.js'
import type { Session } from '../../domain/session.js'
import { consentPage, type LessField } from '../../pages/consent.js'
import { nameItem } from '../../words/describe-grant.js'
import { isLanguage, speak, type Speech } from '../../words/languages.js'
import { passBy, type PassingBy } from '../passing-by.js'
import { frameOf, isFromHere, readForm, sendNotice, sendPage, type Site, speechFor } from '../site.js'
import { makeOffer, type Offer } from './consent.js'
import { recordDecision } from './record.js'

/** What consent needs. */
export interface ConsentDependencies {
  readonly site: Site
  readonly interactions: Interactions
  readonly holders: Holders
}

const identifier = z.string().regex(/^[A-Za-z0-9_-]{1,128}$/)
const address = z.object({ interactId: identifier, nonce: identifier })
const form = address.extend({
  token: z.string(),
  hash: z.string(),
  language: z.string().refine(isLanguage),
  choice: z.enum(['allow', 'decline'])
})

/** `/consent`: shows what a client asks, and takes the answer. See docs/consent-pages.md. */
export function consentRoutes(dependencies: ConsentDependencies): Route[] {
  return [
    { method: 'GET', path: '/consent', handle: (request, response) => ask(dependencies, request, response) },
    {
      method: 'POST',
      path: '/consent',
      handle: (request, response) => answer(dependencies, request, response)
    }
  ]
}

async function ask(
  dependencies: ConsentDependencies,
  request: HttpRequest,
  response: HttpResponse
): Promise<void> {
  const { site } = dependencies
  const query = new URLSearchParams(request.originalUrl.slice(request.path.length + 1))
  const parsed = address.safeParse(Object.fromEntries(query))
  if (!parsed.success) {
    sendNotice(site, request, response, { status: 400, notice: 'incomplete' })
    return
  }
  const session = await site.sessions.find(request.get('cookie'))
  if (session === undefined) {
    await passBy(site, request, response, { purpose: { kind: 'sign-in', to: pathOf(parsed.data) } })
    return
  }
  const open = await findOpen(dependencies, request, response, { session, address: parsed.data })
  if (open === undefined) return
  const { grant } = open
  const speech = speechFor(site, request)
  const changes = readChanges(query)
  const offer = makeOffer(grant, changes, speech)
  const leftMs = grant.expiresAtMs - site.clock.now()
  // At its expiry an open page is replaced by one without a button.
  response.addField('Refresh', String(Math.ceil(leftMs / 1_000)))
  const token = site.sessions.formToken(session, parsed.data.interactId)
  const { hash } = offer
  const page = consentPage(frameOf(site, speech, session, pathOf(parsed.data)), {
    words: offer.words,
    address: Object.entries(parsed.data),
    hidden: [
      ...Object.entries({ ...parsed.data, token, hash, language: speech.language }),
      ...(offer.problem === undefined ? changeFields(changes) : [])
    ],
    less: lessFields(grant, offer, changes, speech),
    isLess: offer.isLess,
    problem: offer.problem,
    undoPath: pathOf(parsed.data)
  })
  sendPage(response, offer.problem === undefined ? 200 : 400, page)
}

async function answer(
  dependencies: ConsentDependencies,
  request: HttpRequest,
  response: HttpResponse
): Promise<void> {
  const { site, interactions } = dependencies
  const fields = readForm(request)
  const parsed = form.safeParse(Object.fromEntries(fields))
  const session = await site.sessions.find(request.get('cookie'))
  if (!parsed.success) {
    sendNotice(site, request, response, { status: 400, notice: 'incomplete' })
    return
  }
  const { interactId, nonce, token, hash, language, choice } = parsed.data
  const at = { interactId, nonce }
  if (
    !isFromHere(site, request) ||
    session === undefined ||
    !site.sessions.isFormToken(session, interactId, token)
  ) {
    const wayOn = { label: speechFor(site, request).messages.lookAgain, to: pathOf(at) }
    sendNotice(site, request, response, { status: 403, notice: 'forged', wayOn })
    return
  }
  const open = await findOpen(dependencies, request, response, { session, address: at })
  if (open === undefined) return
  const { grant } = open
  if (choice === 'decline') {
    recordDecision(dependencies, request, response, {
      at,
      grant,
      session,
      result: await interactions.decline(at)
    })
    return
  }
  const changes = readChanges(fields)
  const offer = makeOffer(grant, changes, speak(language, site.timeZone))
  if (offer.hash !== hash || offer.problem !== undefined) {
    const wayOn = { label: speechFor(site, request).messages.lookAgain, to: pathOf(at) }
    sendNotice(site, request, response, { status: 409, notice: 'changed', session, wayOn })
    return
  }
  if (grant.consentProof === 'none') {
    const access = offer.isLess ? offer.access : undefined
    const result = await interactions.accept(at, { access, proof: undefined })
    recordDecision(dependencies, request, response, { at, grant, session, result })
    return
  }
  await passBy(site, request, response, {
    nonce: hash,
    purpose: {
      kind: 'consent',
      ...at,
      language,
      changes: changeFields(changes).map(([name, value]) => [name, value]),
      issuer: session.issuer,
      sub: session.sub
    },
    ...demandOf(grant)
  })
}

/** What the issuer is asked for. A sign-in may get as old again before the auth server looks at it. */
function demandOf({ signIn }: AskedGrant): Pick<PassingBy, 'maxAge' | 'parameters'> {
  if (signIn === null) return {}
  const { ageMaxSeconds, acrValues } = signIn
  const maxAge = Math.floor(ageMaxSeconds / 2)
  return { maxAge, parameters: acrValues.length === 0 ? {} : { acr_values: acrValues.join(' ') } }
}

/**
 * The grant, and the statement that this person holds its wallet, if they can decide about it now.
 *
 * @returns undefined when the browser was told why not
 */
export async function findOpen(
  { site, interactions, holders }: ConsentDependencies,
  request: HttpRequest,
  response: HttpResponse,
  { session, address: at }: { session: Session; address: InteractionAddress }
): Promise<{ readonly grant: AskedGrant; readonly ownership: string } | undefined> {
  const grant = await interactions.read(at)
  if (grant === undefined) {
    sendNotice(site, request, response, { status: 404, notice: 'unknown-request', session })
    return undefined
  }
  const { issuer, sub } = session
  // Before anything of it is told: only its holder learns what became of it.
  const ownership = await holders.stateOwnership(grant.walletAddress, { issuer, sub })
  if (ownership === undefined) {
    const to = `/sign-in?${new URLSearchParams({ to: pathOf(at), as: 'other' }).toString()}`
    const wayOn = { label: speechFor(site, request).messages.signInAsOther, to }
    sendNotice(site, request, response, { status: 403, notice: 'wrong-person', session, wayOn })
    return undefined
  }
  if (grant.state !== 'PENDING') {
    sendNotice(site, request, response, { status: 409, notice: 'decided', session })
    return undefined
  }
  if (grant.expiresAtMs <= site.clock.now()) {
    sendNotice(site, request, response, { status: 410, notice: 'expired', session })
    return undefined
  }
  return { grant, ownership }
}

function pathOf({ interactId, nonce }: InteractionAddress): string {
  return `/consent?${new URLSearchParams({ interactId, nonce }).toString()}`
}

/** What can be less: as it is now. */
function lessFields(
  grant: AskedGrant,
  offer: Offer,
  changes: ReturnType<typeof readChanges>,
  speech: Speech
): LessField[] {
  const { consent } = speech.messages
  return grant.access.flatMap((item, place): LessField[] => {
    const limiting = limitingAmount(item)
    const most = repetitionsOf(item)
    const suffix = `-${String(place)}`
    return [
      ...(limiting === undefined
        ? []
        : [
            {
              kind: 'text' as const,
              name: `amount${suffix}`,
              label: consent.lessAmount(limiting.amount.assetCode, speech.formats.amount(limiting.amount)),
              value: changes.amounts.get(place) ?? speech.formats.plainAmount(limiting.amount),
              isDecimal: true
            }
          ]),
      ...(most === undefined
        ? []
        : [
            {
              kind: 'text' as const,
              name: `times${suffix}`,
              label: consent.lessTimes(most === Infinity ? consent.endless : String(most)),
              value: changes.times.get(place) ?? (most === Infinity ? '' : String(most)),
              isDecimal: false
            }
          ]),
      ...(grant.access.length === 1
        ? []
        : [
            {
              kind: 'tick' as const,
              name: `without${suffix}`,
              label: consent.leaveOut(nameItem(item, grant, speech)),
              isOn: changes.without.has(place)
            }
          ])
    ]
  })
}
