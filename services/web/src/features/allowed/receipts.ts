import type { HttpRequest, HttpResponse } from '@open-payments-server/http-server'
import { receiptPage } from '../../pages/allowed/receipts.js'
import { agreedFacts, clientOf, describeAllowed } from '../../words/describe-allowed.js'
import type { Fact } from '../../words/fact.js'
import { sendPage } from '../site.js'
import { describeAct } from './detail.js'
import {
  type AllowedDependencies,
  allowedFrame,
  describeReceivers,
  pathOf,
  requireHeldGrant,
  sendNotFound
} from './someone.js'

/** `GET /allowed/:id/receipt`: what was agreed to, for whoever did. */
export async function showAgreed(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse
): Promise<void> {
  const held = await requireHeldGrant(dependencies, request, response)
  if (held === undefined) return
  const { grant, someone } = held
  if (grant.isConsentOfAnother) {
    sendNotFound(dependencies, request, response, someone.session)
    return
  }
  const frame = allowedFrame(dependencies, request, someone.session)
  const receivers = await describeReceivers(dependencies, [grant])
  const { receipt } = frame.speech.messages.allowed
  const path = pathOf(grant.id)
  const page = receiptPage(frame, {
    title: receipt.agreedTitle,
    sentences: [receipt.agreedIntro, receipt.howToStop(`${dependencies.site.origin}${path}`)],
    facts: agreedFacts(grant, receivers, frame.speech),
    path
  })
  sendPage(response, 200, page)
}

/** `GET /allowed/:id/acts/:act`: what was done. */
export async function showAct(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse
): Promise<void> {
  const held = await requireHeldGrant(dependencies, request, response)
  if (held === undefined) return
  const { grant, acts, someone } = held
  const act = acts.find(({ id }) => id === request.param('act'))
  if (act === undefined) {
    sendNotFound(dependencies, request, response, someone.session)
    return
  }
  const frame = allowedFrame(dependencies, request, someone.session)
  const { speech } = frame
  const { allowed: words } = speech.messages
  const receivers = await describeReceivers(dependencies, [grant])
  const { who, when, changes } = describeAct(act, grant.id, someone, speech)
  const { headline } = describeAllowed(grant, receivers, speech, dependencies.site.clock.now())
  const facts: Fact[] = [
    { label: words.facts.client, value: clientOf(grant, speech) },
    ...(changes.length === 0 ? [{ label: words.facts.what, value: headline }] : []),
    ...changes.flatMap(({ before, after }) => [
      { label: words.facts.before, value: before },
      { label: words.facts.after, value: after }
    ]),
    { label: words.facts.when, value: when },
    { label: words.facts.by, value: who },
    { label: words.facts.reference, value: act.id }
  ]
  const page = receiptPage(frame, {
    title: words.receipt[act.isOwn ? 'title' : 'titleOfAnother'][act.kind],
    sentences: [words.receipt.means[act.kind]],
    facts,
    path: pathOf(grant.id)
  })
  sendPage(response, 200, page)
}
