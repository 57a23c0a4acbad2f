import type { HttpRequest, HttpResponse, Route } from '@open-payments-server/http-server'
import { z } from 'zod'
import { changeFields, limitingAmount, readChanges, repetitionsOf } from '../../domain/changes.js'
import { takesLastDay } from '../../domain/ends.js'
import type { AskedGrant, AskedItem, Holders, InteractionAddress, Interactions } from '../../domain/grant.js'
import type { Receivers } from '../../domain/payment.js'
import type { Session } from '../../domain/session.js'
import { consentPage, type LessField } from '../../pages/consent.js'
import type { TextField } from '../../pages/parts.js'
import { nameItem } from '../../words/describe-grant.js'
import { type DescribedReceivers, receiversOf } from '../../words/describe-item.js'
import { isLanguage, speak, type Speech } from '../../words/languages.js'
import { consentDetails } from '../consent-details.js'
import { demandOf, passBy } from '../passing-by.js'
import { frameOf, isOwnForm, readForm, sendNotice, sendPage, type Site, speechFor } from '../site.js'
import { makeOffer } from './consent.js'
import { pathOf, recordDecision, sendDecided, UNSURE, wayBackOf } from './decided.js'
import { askForPayees, asTold, payeeFields, purposeOf, readPayeeFields } from './payees.js'

/** What consent needs. */
export interface ConsentDependencies {
  readonly site: Site
  readonly interactions: Interactions
  readonly holders: Holders
  readonly receivers: Receivers
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
  const receivers = await askForPayees(open.receivers, dependencies.receivers)
  const payees = payeeFields(receivers)
  const speech = speechFor(site, request)
  const changes = readChanges(query)
  const offer = makeOffer(grant, receivers, changes, speech)
  const leftMs = grant.expiresAtMs - site.clock.now()
  // At its expiry an open page is replaced by one without a button.
  response.addField('Refresh', String(Math.ceil(leftMs / 1_000)))
  const token = site.sessions.formToken(session, purposeOf(parsed.data.interactId, payees))
  const { hash } = offer
  const page = consentPage(frameOf(site, speech, session, pathOf(parsed.data)), {
    words: offer.words,
    address: Object.entries(parsed.data),
    hidden: [
      ...Object.entries({ ...parsed.data, token, hash, language: speech.language }),
      ...payees,
      ...(offer.problem === undefined ? changeFields(changes) : [])
    ],
    less: lessFields(grant, receivers, changes, speech),
    isLess: offer.isLess,
    isUnsure: query.has(UNSURE),
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
  const payees = readPayeeFields(fields)
  const purpose = purposeOf(interactId, payees)
  if (session === undefined || !isOwnForm(site, request, session, { purpose, token })) {
    const wayOn = { label: speechFor(site, request).messages.lookAgain, to: pathOf(at) }
    sendNotice(site, request, response, { status: 403, notice: 'forged', wayOn })
    return
  }
  const open = await findOpen(dependencies, request, response, { session, address: at })
  if (open === undefined) return
  const { grant } = open
  const receivers = asTold(open.receivers, payees)
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
  const offer = makeOffer(grant, receivers, changes, speak(language, site.timeZone))
  if (offer.hash !== hash || offer.problem !== undefined) {
    const wayOn = { label: speechFor(site, request).messages.lookAgain, to: pathOf(at) }
    sendNotice(site, request, response, { status: 409, notice: 'changed', session, wayOn })
    return
  }
  if (grant.consentProof === 'none') {
    const access = offer.isLess ? offer.access : undefined
    const result = await interactions.accept(at, { access, endsAtMs: offer.endsAtMs, proof: undefined })
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
      payees: payees.map(([name, value]) => [name, value]),
      issuer: session.issuer,
      sub: session.sub
    },
    ...demandOf(grant.signIn),
    details: consentDetails(offer.access, receivers, offer.endsAtMs)
  })
}

/** A request that somebody can decide about. */
interface OpenRequest {
  readonly grant: AskedGrant
  /** The statement that they hold its wallet. */
  readonly ownership: string
  /** Whom it names as payees. */
  readonly receivers: DescribedReceivers
}

/**
 * The request, if this person can decide about it now.
 *
 * @returns undefined when the browser was told why not
 */
export async function findOpen(
  dependencies: ConsentDependencies,
  request: HttpRequest,
  response: HttpResponse,
  { session, address: at }: { session: Session; address: InteractionAddress }
): Promise<OpenRequest | undefined> {
  const { site, interactions, holders } = dependencies
  const grant = await interactions.read(at)
  if (grant === undefined) {
    sendNotice(site, request, response, { status: 404, notice: 'unknown-request', session })
    return undefined
  }
  const urls = receiversOf(grant.access)
  const [ownership, receivers] = await Promise.all([
    holders.stateOwnership(grant.walletAddress, session),
    urls.length === 0
      ? new Map<string, never>()
      : dependencies.receivers.describe(urls, { asksProviders: false })
  ])
  // Before anything of it is told: only its holder learns what became of it.
  if (ownership === undefined) {
    const to = `/sign-in?${new URLSearchParams({ to: pathOf(at), as: 'other' }).toString()}`
    const wayOn = { label: speechFor(site, request).messages.signInAsOther, to }
    sendNotice(site, request, response, { status: 403, notice: 'wrong-person', session, wayOn })
    return undefined
  }
  if (grant.state !== 'PENDING') {
    sendDecided(dependencies, request, response, { at, grant, receivers, session })
    return undefined
  }
  if (grant.expiresAtMs <= site.clock.now()) {
    const wayOn = wayBackOf(grant, at, speechFor(site, request))
    const notice = {
      status: 410,
      notice: 'expired',
      session,
      ...(wayOn === undefined ? {} : { wayOn })
    } as const
    sendNotice(site, request, response, notice)
    return undefined
  }
  return { grant, ownership, receivers }
}

/** What can be less: as it is now. */
function lessFields(
  grant: AskedGrant,
  receivers: DescribedReceivers,
  changes: ReturnType<typeof readChanges>,
  speech: Speech
): LessField[] {
  const items = grant.access.flatMap((item, place): LessField[] => [
    ...typedFields(item, place, changes, speech),
    ...(grant.access.length === 1
      ? []
      : [
          {
            kind: 'tick' as const,
            name: `without-${String(place)}`,
            label: speech.messages.consent.leaveOut(nameItem(item, grant, receivers, speech)),
            isOn: changes.without.has(place)
          }
        ])
  ])
  if (!takesLastDay(grant.access)) return items
  const { lessEnd } = speech.messages.consent
  return [...items, { kind: 'date', name: 'end', label: lessEnd, value: changes.end ?? '' }]
}

function typedFields(
  item: AskedItem,
  place: number,
  changes: ReturnType<typeof readChanges>,
  { messages, formats }: Speech
): TextField[] {
  const { consent } = messages
  const suffix = `-${String(place)}`
  const fields: TextField[] = []
  const limiting = limitingAmount(item)
  if (limiting !== undefined)
    fields.push({
      kind: 'text',
      name: `amount${suffix}`,
      label: consent.lessAmount(limiting.amount.assetCode, formats.amount(limiting.amount)),
      value: changes.amounts.get(place) ?? formats.plainAmount(limiting.amount),
      isDecimal: true
    })
  const most = repetitionsOf(item)
  if (most !== undefined)
    fields.push({
      kind: 'text',
      name: `times${suffix}`,
      label: consent.lessTimes(most === Infinity ? consent.endless : String(most)),
      value: changes.times.get(place) ?? (most === Infinity ? '' : String(most))
    })
  return fields
}
