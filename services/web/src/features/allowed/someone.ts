import type { HttpRequest, HttpResponse } from '@open-payments-server/http-server'
import { isUuid } from '@open-payments-server/value-types/identifiers'
import type {
  ActKind,
  Acting,
  AllowedGrant,
  AllowedGrants,
  AllowedState,
  GrantAct,
  GrantWithActs,
  HeldWallet,
  Wallets
} from '../../domain/allowed.js'
import type { Claimant, Holders } from '../../domain/grant.js'
import { NoSuchPage, type Page, type Paged } from '../../domain/paged.js'
import type { Receivers } from '../../domain/payment.js'
import type { Session } from '../../domain/session.js'
import type { Frame } from '../../pages/layout.js'
import { type DescribedReceivers, receiversOf } from '../../words/describe-item.js'
import { isRepeat, requireSession, takeForm } from '../forms.js'
import { frameOf, sendNotice, type Site, speechFor } from '../site.js'

/** What the pages "Payments you allow" need. */
export interface AllowedDependencies {
  readonly site: Site
  readonly grants: AllowedGrants
  readonly wallets: Wallets
  readonly holders: Holders
  readonly receivers: Receivers
}

/** Somebody who is signed in, with what they hold. */
export interface Someone {
  readonly session: Session
  readonly claimant: Claimant
  readonly wallets: readonly HeldWallet[]
  /** They, for as many wallet addresses at a time as the auth server takes. Empty for somebody who holds none. */
  readonly acting: readonly Acting[]
}

/** A grant of somebody, with what they act as. */
export interface HeldGrant extends GrantWithActs {
  readonly someone: Someone
  readonly acting: Acting
}

/** Maximum number of wallet addresses for which somebody acts at a time. */
const WALLET_ADDRESSES_MAX = 100

/** @throws ServiceAway */
export async function findSomeone({ wallets }: AllowedDependencies, session: Session): Promise<Someone> {
  const { issuer, sub, holderClaimValues } = session
  const claimant = { issuer, sub, holderClaimValues }
  const held = await wallets.walletsOf(claimant)
  const urls = held.map(({ url }) => url)
  const acting = Array.from({ length: Math.ceil(urls.length / WALLET_ADDRESSES_MAX) }, (_, group) => ({
    issuer,
    sub,
    walletAddresses: urls.slice(group * WALLET_ADDRESSES_MAX, (group + 1) * WALLET_ADDRESSES_MAX)
  }))
  return { session, claimant, wallets: held, acting }
}

/**
 * A page of somebody's grants, newest first; for more than a hundred wallet addresses, of each hundred of them in turn.
 *
 * @throws NoSuchPage, ServiceAway
 */
export async function listGrants(
  { grants }: AllowedDependencies,
  { acting }: Someone,
  state: AllowedState | undefined,
  { size, after }: Page
): Promise<Paged<AllowedGrant>> {
  const [, digits = '0', token = ''] = /^(\d{1,4})\.([\w-]*)$/.exec(after) ?? []
  const group = Number(digits)
  const who = acting[group]
  if (after !== '' && (who === undefined || after !== `${digits}.${token}`))
    throw new NoSuchPage('there is no such page')
  if (who === undefined) return { items: [], next: '' }
  const { items, next } = await grants.list(who, state, { size, after: token })
  if (next !== '') return { items, next: `${digits}.${next}` }
  return { items, next: acting[group + 1] === undefined ? '' : `${String(group + 1)}.` }
}

/**
 * Somebody's grant.
 *
 * @param id as the path of a request names it, unless given
 * @returns undefined when the browser was told that there is none
 * @throws ServiceAway
 */
export async function findHeldGrant(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse,
  session: Session,
  id = request.param('id')
): Promise<HeldGrant | undefined> {
  const someone = isUuid(id) ? await findSomeone(dependencies, session) : undefined
  for (const acting of someone?.acting ?? []) {
    const found = await dependencies.grants.find(acting, id)
    if (found !== undefined && someone !== undefined) return { ...found, someone, acting }
  }
  sendNotFound(dependencies, request, response, session)
  return undefined
}

/**
 * The grant of whoever is signed in, as the path of a request names it.
 *
 * @returns undefined when the browser was sent to sign in, or told that there is none
 * @throws ServiceAway
 */
export async function requireHeldGrant(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse
): Promise<HeldGrant | undefined> {
  const session = await requireSession(dependencies.site, request, response)
  return session && findHeldGrant(dependencies, request, response, session)
}

/**
 * The form of an act on a grant, and the grant as it is now, as the path of a request names it.
 *
 * @param of.act what the form is for
 * @param of.page path of the page that has it
 * @returns undefined when the browser was told why nothing is done
 * @throws ServiceAway
 */
export async function takeHeldForm(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse,
  { act, page }: { readonly act: string; readonly page: string }
): Promise<{ readonly held: HeldGrant; readonly fields: URLSearchParams } | undefined> {
  const purpose = formPurpose(act, request.param('id'))
  const taken = await takeForm(dependencies.site, request, response, { purpose, page })
  if (taken === undefined) return undefined
  const held = await findHeldGrant(dependencies, request, response, taken.session)
  return held && { held, fields: taken.fields }
}

/** Says that there is no such page. */
export function sendNotFound(
  { site }: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse,
  session: Session
): void {
  const wayOn = { label: speechFor(site, request).messages.allowed.back, to: '/' }
  sendNotice(site, request, response, { status: 404, notice: 'not-found', session, wayOn })
}

/** Describes whom grants let their clients pay; asks nobody when they name nobody. */
export async function describeReceivers(
  { receivers }: AllowedDependencies,
  grants: readonly AllowedGrant[]
): Promise<DescribedReceivers> {
  const urls = receiversOf(grants.flatMap(({ items }) => items.map(({ item }) => item)))
  return urls.length === 0 ? new Map() : receivers.describe(urls, { asksProviders: false })
}

/** What surrounds a page. */
export function allowedFrame({ site }: AllowedDependencies, request: HttpRequest, session: Session): Frame {
  const frame = frameOf(site, speechFor(site, request), session, request.path)
  return { ...frame, home: '/' }
}

/** Path of the page of a grant. */
export function pathOf(grantId: string): string {
  return `/allowed/${grantId}`
}

/** What the forms of an act on a grant carry a token for. */
export function formPurpose(kind: string, grantId: string): string {
  return `${kind} ${grantId}`
}

/** What was known when a page was shown: the last act. */
export function seenOf({ acts }: Pick<GrantWithActs, 'acts'>): string {
  return acts[0]?.id ?? ''
}

/** Whether nobody has acted since the page was shown whose form this is. */
export function isAsSeen(held: Pick<GrantWithActs, 'acts'>, fields: URLSearchParams): boolean {
  return fields.get('seen') === seenOf(held)
}

/**
 * What was done by a form whose answer was lost, and that is repeated: the one act since its page was shown, of this kind and by this
 * person.
 */
export function repeatedAct(
  { acts }: HeldGrant,
  kind: ActKind,
  fields: URLSearchParams
): GrantAct | undefined {
  const [last, ...earlier] = acts
  const isIt = isRepeat(fields) && last?.kind === kind && last.isOwn && isAsSeen({ acts: earlier }, fields)
  return isIt ? last : undefined
}

/** A parameter of the query that says after what a page begins. */
export function cursorOf(request: HttpRequest, name: string): string {
  const value = request.query[name]
  return typeof value === 'string' ? value : ''
}
