import type { HttpRequest, HttpResponse } from '@open-payments-server/http-server'
import type { GrantAct } from '../../domain/allowed.js'
import { takesLastDay } from '../../domain/ends.js'
import { type ActWords, detailPage } from '../../pages/allowed/detail.js'
import { agreedBefore, allowedFacts, changesOf, describeAllowed } from '../../words/describe-allowed.js'
import { describePayment } from '../../words/describe-payment.js'
import type { Speech } from '../../words/languages.js'
import { TOKEN_FIELD } from '../forms.js'
import { sendPage } from '../site.js'
import {
  type AllowedDependencies,
  allowedFrame,
  cursorOf,
  describeReceivers,
  formPurpose,
  type HeldGrant,
  pathOf,
  requireHeldGrant,
  seenOf,
  type Someone
} from './someone.js'

/** Payments on a page. */
const PAGE_SIZE = 20

/** `GET /allowed/:id` */
export async function showGrant(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse
): Promise<void> {
  const held = await requireHeldGrant(dependencies, request, response)
  if (held !== undefined) await sendDetail(dependencies, request, response, held)
}

/**
 * Answers with the page of a grant.
 *
 * @param told what is otherwise than the page said on which somebody acted, and the status; undefined when nothing is
 */
export async function sendDetail(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse,
  held: HeldGrant,
  told?: { readonly status: number; readonly meanwhile: string }
): Promise<void> {
  const { site, wallets } = dependencies
  const { grant, acts, someone } = held
  const after = cursorOf(request, 'after')
  const [receivers, payments] = await Promise.all([
    describeReceivers(dependencies, [grant]),
    wallets.payments(someone.claimant, grant.id, { size: PAGE_SIZE, after })
  ])
  const path = pathOf(grant.id)
  const frame = { ...allowedFrame(dependencies, request, someone.session), path }
  const { speech } = frame
  const tokenFor = (kind: string): [string, string] => [
    TOKEN_FIELD,
    site.sessions.formToken(someone.session, formPurpose(kind, grant.id))
  ]
  const seen: [string, string] = ['seen', seenOf(held)]
  const { next } = payments
  const page = detailPage(frame, {
    path,
    state: grant.state,
    words: describeAllowed(grant, receivers, speech, site.clock.now()),
    facts: [...allowedFacts(grant, receivers, speech), ...agreedBefore(grant, speech)],
    payments: payments.items.map((payment) => describePayment(payment, speech)),
    olderPath: next === '' ? undefined : `${path}?${new URLSearchParams({ after: next }).toString()}`,
    acts: acts.map((act) => describeAct(act, grant.id, someone, speech)),
    pauseFields: [tokenFor('pause'), seen],
    resumeFields: [tokenFor('resume'), seen],
    isConsentOfAnother: grant.isConsentOfAnother,
    isStoppable: grant.isStoppable,
    canLower: takesLastDay(grant.items.map(({ item }) => item)),
    meanwhile: told?.meanwhile
  })
  sendPage(response, told?.status ?? 200, page)
}

/** An act, as the person who is signed in is told it. */
export function describeAct(act: GrantAct, grantId: string, someone: Someone, speech: Speech): ActWords {
  const { allowed: words } = speech.messages
  return {
    kind: act.kind,
    title: words.acts[act.kind],
    when: speech.formats.instant(act.atMs),
    who: whoActed(act, someone, speech),
    changes: changesOf(act, speech),
    path: `${pathOf(grantId)}/acts/${act.id}`
  }
}

function whoActed(act: GrantAct, { session }: Someone, { messages }: Speech): string {
  return act.isOwn ? messages.allowed.you(session.name ?? messages.home.someone) : messages.allowed.coHolder
}
