import type { HttpRequest, HttpResponse } from '@open-payments-server/http-server'
import type { ActKind, ActOutcome } from '../../domain/allowed.js'
import { stopPage, unsurePage } from '../../pages/allowed/asking.js'
import { describeAllowed } from '../../words/describe-allowed.js'
import { takeForm, TOKEN_FIELD } from '../forms.js'
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
  seenOf,
  sendNotFound
} from './someone.js'

/** The act that each last part of a path is. */
const ACTS = { pause: 'paused', resume: 'resumed', stop: 'stopped' } as const

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
  if (grant.state === 'ended') {
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
 * `POST /allowed/:id/pause`, `resume` and `stop`. Whoever pauses or stops is never refused because something has changed: that was to be
 * prevented. Whoever resumes is, because they did not see what they resume.
 */
export async function takeAct(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse,
  name: ActName
): Promise<void> {
  const { site, grants } = dependencies
  const id = request.param('id')
  const page = name === 'stop' ? `${pathOf(id)}/stop` : pathOf(id)
  const purpose = formPurpose(name, id)
  const taken = await takeForm(site, request, response, { purpose, page })
  if (taken === undefined) return
  const held = await findHeldGrant(dependencies, request, response, taken.session)
  if (held === undefined) return
  if (name === 'resume' && taken.fields.get('seen') !== seenOf(held)) {
    const { changed } = allowedFrame(dependencies, request, taken.session).speech.messages.allowed.meanwhile
    await sendDetail(dependencies, request, response, held, { status: 409, meanwhile: changed })
    return
  }
  const outcome = await grants.act(held.acting, held.grant.id, ACTS[name])
  await sendOutcome(dependencies, request, response, {
    held,
    kind: ACTS[name],
    outcome,
    fields: taken.fields
  })
}

/** Says what became of an act: the receipt, once the auth server has said that it is in force. */
export async function sendOutcome(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse,
  acted: {
    readonly held: HeldGrant
    readonly kind: ActKind
    readonly outcome: Exclude<ActOutcome, 'refused'>
    readonly fields: URLSearchParams
  }
): Promise<void> {
  const { held, kind, outcome, fields } = acted
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
      const hidden = [...fields].filter(([name]) => name !== '')
      sendPage(response, 503, unsurePage(frame, { path, action: request.path, hidden }))
      return
    }
    case 'done': {
      const after = await dependencies.grants.find(held.acting, held.grant.id)
      const act = after?.acts.find((each) => each.kind === kind)
      // Without one, it was so before.
      goTo(dependencies.site, response, act === undefined ? path : `${path}/acts/${act.id}`)
    }
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
  const held = await findHeldGrant(dependencies, request, response, session)
  if (held === undefined) return
  const { ended } = allowedFrame(dependencies, request, session).speech.messages.allowed.meanwhile
  await sendDetail(dependencies, request, response, held, { status: 409, meanwhile: ended })
}
