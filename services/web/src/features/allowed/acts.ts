import type { HttpRequest, HttpResponse } from '@open-payments-server/http-server'
import type { ActKind, UnconditionalOutcome } from '../../domain/allowed.js'
import { ServiceAway } from '../../domain/grant.js'
import { stopPage, unsurePage } from '../../pages/allowed/asking.js'
import { describeAllowed } from '../../words/describe-allowed.js'
import { repeating, TOKEN_FIELD } from '../forms.js'
import { goTo, sendPage } from '../site.js'
import { sendDetail } from './detail.js'
import {
  type AllowedDependencies,
  allowedFrame,
  describeReceivers,
  findHeldGrant,
  formPurpose,
  type HeldGrant,
  pathOf,
  requireHeldGrant,
  sendNotFound,
  takeHeldForm
} from './someone.js'

/** The act that each last part of a path is. */
const ACTS = { pause: 'paused', stop: 'stopped' } as const

/** The last part of a path that acts. */
export type ActName = keyof typeof ACTS

/** `GET /allowed/:id/stop`: asks before it is stopped. */
export async function askToStop(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse
): Promise<void> {
  const { site } = dependencies
  const held = await requireHeldGrant(dependencies, request, response)
  if (held === undefined) return
  const { grant, someone } = held
  const { session } = someone
  if (!grant.isStoppable) {
    await sendEnded(dependencies, request, response, held)
    return
  }
  const frame = allowedFrame(dependencies, request, session)
  const receivers = await describeReceivers(dependencies, [grant])
  const page = stopPage(frame, {
    path: pathOf(grant.id),
    words: describeAllowed(grant, receivers, frame.speech, site.clock.now()),
    hidden: [[TOKEN_FIELD, site.sessions.formToken(session, formPurpose('stop', grant.id))]]
  })
  sendPage(response, 200, page)
}

/**
 * `POST /allowed/:id/pause` and `stop`. Whoever pauses or stops is never refused because something has changed: that was to be
 * prevented.
 */
export async function takeAct(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse,
  name: ActName
): Promise<void> {
  const path = pathOf(request.param('id'))
  const page = name === 'stop' ? `${path}/stop` : path
  const taken = await takeHeldForm(dependencies, request, response, { act: name, page })
  if (taken === undefined) return
  const { held } = taken
  const outcome = await dependencies.grants.act(held.acting, held.grant.id, ACTS[name])
  await sendOutcome(dependencies, request, response, { ...taken, kind: ACTS[name], outcome })
}

/** Says what became of an act: the receipt, once the auth server has said that it is in force. */
export async function sendOutcome(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse,
  acted: {
    readonly held: HeldGrant
    readonly kind: ActKind
    readonly outcome: UnconditionalOutcome
    /** Of the form that acts, which goes to `action`. */
    readonly fields: URLSearchParams
    readonly action?: string
  }
): Promise<void> {
  const { held, kind, outcome, fields, action = request.path } = acted
  const { session } = held.someone
  const path = pathOf(held.grant.id)
  switch (outcome) {
    case 'unknown':
      sendNotFound(dependencies, request, response, session)
      return
    case 'ended':
      await sendEnded(dependencies, request, response, held)
      return
    case 'unsure': {
      const frame = { ...allowedFrame(dependencies, request, session), path: undefined }
      const hidden = repeating(fields)
      sendPage(response, 503, unsurePage(frame, { path, action, hidden }))
      return
    }
    case 'done':
      goTo(dependencies.site, response, await receiptPath(dependencies, held, kind))
  }
}

/** Where it is told what was done. */
async function receiptPath({ grants }: AllowedDependencies, held: HeldGrant, kind: ActKind): Promise<string> {
  const path = pathOf(held.grant.id)
  try {
    const after = await grants.find(held.acting, held.grant.id)
    const act = after?.acts.find((each) => each.kind === kind)
    // Without one, it was so before.
    return act === undefined ? path : `${path}/acts/${act.id}`
  } catch (error) {
    // It is done: nothing may say that it is not.
    if (error instanceof ServiceAway) return path
    throw error
  }
}

/** Says that a grant has ended meanwhile, with what is true now. */
export async function sendEnded(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse,
  before: HeldGrant
): Promise<void> {
  const { session } = before.someone
  const held = await findHeldGrant(dependencies, request, response, session, before.grant.id)
  if (held === undefined) return
  const { ended } = allowedFrame(dependencies, request, session).speech.messages.allowed.meanwhile
  await sendDetail(dependencies, request, response, held, { status: 409, meanwhile: ended })
}
