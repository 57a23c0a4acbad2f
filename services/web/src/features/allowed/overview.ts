import type { HttpRequest, HttpResponse } from '@open-payments-server/http-server'
import type { AllowedGrant, AllowedState } from '../../domain/allowed.js'
import type { Paged } from '../../domain/paged.js'
import {
  type AllowedEntry,
  type AllowedSection,
  overviewPage,
  endedPage
} from '../../pages/allowed/overview.js'
import { describeAllowed } from '../../words/describe-allowed.js'
import type { DescribedReceivers } from '../../words/describe-item.js'
import type { Speech } from '../../words/languages.js'
import { requireSession } from '../forms.js'
import { sendPage } from '../site.js'
import {
  allowedFrame,
  type AllowedDependencies,
  cursorOf,
  describeReceivers,
  findSomeone,
  listGrants,
  pathOf,
  type Someone
} from './someone.js'

/** Grants on a page. */
const PAGE_SIZE = 20
const NOTHING: Paged<AllowedGrant> = { items: [], next: '' }

/** `GET /`: the grants that are in force, and those that are paused. */
export async function showOverview(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse
): Promise<void> {
  const session = await requireSession(dependencies.site, request, response)
  if (session === undefined) return
  const someone = await findSomeone(dependencies, session)
  const [after, pausedAfter] = [cursorOf(request, 'after'), cursorOf(request, 'paused')]
  // Later pages of one list do not repeat the other.
  const [inForce, paused] = await Promise.all([
    pausedAfter === '' ? list(dependencies, someone, 'in-force', after) : NOTHING,
    after === '' ? list(dependencies, someone, 'paused', pausedAfter) : NOTHING
  ])
  const frame = allowedFrame(dependencies, request, session)
  const receivers = await describeReceivers(dependencies, [...inForce.items, ...paused.items])
  const entries = entriesBy(dependencies, receivers, frame.speech)
  const { allowed: words } = frame.speech.messages
  const sections: AllowedSection[] = [
    { title: words.inForceTitle, entries: entries(inForce), nextPath: nextPath('/', 'after', inForce) },
    { title: words.pausedTitle, entries: entries(paused), nextPath: nextPath('/', 'paused', paused) }
  ]
  const page = overviewPage(frame, {
    sections: sections.filter((section) => section.entries.length > 0),
    hasWallets: someone.wallets.length > 0,
    isLaterPage: after !== '' || pausedAfter !== ''
  })
  sendPage(response, 200, page)
}

/** `GET /ended`: the grants that have ended. */
export async function showEnded(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse
): Promise<void> {
  const session = await requireSession(dependencies.site, request, response)
  if (session === undefined) return
  const someone = await findSomeone(dependencies, session)
  const after = cursorOf(request, 'after')
  const ended = await list(dependencies, someone, 'ended', after)
  const frame = allowedFrame(dependencies, request, session)
  const receivers = await describeReceivers(dependencies, ended.items)
  const page = endedPage(frame, {
    entries: entriesBy(dependencies, receivers, frame.speech)(ended),
    nextPath: nextPath('/ended', 'after', ended),
    isLaterPage: after !== ''
  })
  sendPage(response, 200, page)
}

function list(
  dependencies: AllowedDependencies,
  someone: Someone,
  state: AllowedState,
  after: string
): Promise<Paged<AllowedGrant>> {
  return listGrants(dependencies, someone, state, { size: PAGE_SIZE, after })
}

function entriesBy({ site }: AllowedDependencies, receivers: DescribedReceivers, speech: Speech) {
  return ({ items }: Paged<AllowedGrant>): AllowedEntry[] =>
    items.map((grant) => ({
      path: pathOf(grant.id),
      state: grant.state,
      words: describeAllowed(grant, receivers, speech, site.clock.now())
    }))
}

function nextPath(path: string, name: string, { next }: Paged<AllowedGrant>): string | undefined {
  return next === '' ? undefined : `${path}?${new URLSearchParams({ [name]: next }).toString()}`
}
