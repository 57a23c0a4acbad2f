import type { UnaryHandler } from '@open-payments-server/grpc-transport'
import { auth } from '@open-payments-server/proto'
import {
  cutPage,
  readPageSize,
  readTextToken,
  unknownPageToken,
  writeTextToken
} from '@open-payments-server/service-kit/grpc'
import type { Clock } from '@open-payments-server/value-types/clock'
import { isUuid } from '@open-payments-server/value-types/identifiers'
import { formatAmount } from '@open-payments-server/value-types/amounts'
import type { ActingHolder, AllowedAccessItem, AllowedGrant, AllowedState } from '../domain/allowed-grants.js'
import { invalidCallField } from '../domain/call-refused.js'
import { ID_TOKEN_LENGTH_MAX, OWNERSHIP_LENGTH_MAX } from '../domain/consent-proof.js'
import type { LoweredLimits } from '../domain/lowering.js'
import { findAllowedGrant, listAllowedGrants } from '../features/allowed-grants.js'
import {
  changeAllowedGrant,
  type ChangeAllowedGrantDependencies
} from '../features/change-allowed-grant/change-allowed-grant.js'
import { resumeGrant, type ResumeGrantDependencies } from '../features/change-allowed-grant/resume-grant.js'
import {
  type Resumption,
  resumptionOf,
  type ResumptionRules
} from '../features/change-allowed-grant/resumption.js'
import { stopGrant, type StopGrantDependencies } from '../features/end-grant/stop-grant.js'
import type { Queries } from '../modules/database.js'
import { findActs, type StoredAct, type Terms } from '../modules/grants/index.js'
import { toAccessItemMessage, toClientMessage, toLimitsMessage } from './messages.js'
import { readAmount, readUrl, readUuid } from './request-fields.js'

/** Maximum number of wallet addresses of one person. */
const WALLET_ADDRESSES_MAX = 100

/** Maximum length of what names a person, in characters: `sub` has at most 255 (OpenID Connect Core §2). */
const [ISSUER_LENGTH_MAX, SUB_LENGTH_MAX] = [2_048, 255]

/** Maximum number of acts that are told. */
export const ACTS_MAX = 100

/** What reading grants for their account holders needs. */
export interface ShowAllowedGrantsDependencies {
  readonly database: Queries
  readonly clock: Clock
}

/** `HolderGrantService.ListAllowedGrants`. */
export function listAllowedGrantsRpc({
  database,
  clock
}: ShowAllowedGrantsDependencies): UnaryHandler<
  auth.ListAllowedGrantsRequest,
  auth.ListAllowedGrantsResponse
> {
  return async (request) => {
    const acting = readActing(request.acting)
    const pageSize = readPageSize(request.pageSize)
    const page = {
      state: readState(request.state),
      before: readBefore(request.pageToken),
      count: pageSize + 1
    }
    const found = await listAllowedGrants(database, acting, page, clock.now())
    const { items, nextPageToken } = cutPage(found, pageSize, ({ id }) => writeTextToken(id))
    return { grants: items.map(toMessage), nextPageToken }
  }
}

/** `HolderGrantService.GetAllowedGrant`. */
export function getAllowedGrantRpc({
  database,
  clock,
  ...rules
}: ShowAllowedGrantsDependencies & ResumptionRules): UnaryHandler<
  auth.GetAllowedGrantRequest,
  auth.GetAllowedGrantResponse
> {
  return async (request) => {
    const acting = readActing(request.acting)
    const grantId = readUuid(request.grantId, 'grant_id')
    const grant = await findAllowedGrant(database, acting, grantId, clock.now())
    const acts = await findActs(database, grantId, ACTS_MAX)
    const resumption = resumptionOf(grant, acts[0]?.id, rules)
    return {
      grant: toMessage(grant),
      acts: acts.map((act) => withoutOthers(act, acting)),
      resumption: resumption && toResumptionMessage(resumption)
    }
  }
}

/** An act as its account holder is told it: who else held the wallet is not their concern. */
function withoutOthers(act: StoredAct, { issuer, sub }: ActingHolder): auth.GrantAct {
  const isOwn = act.holder.issuer === issuer && act.holder.sub === sub
  return { ...toActMessage(act), ...(isOwn ? {} : { holder: undefined }) }
}

function toResumptionMessage({ document, signIn }: Resumption): auth.Resumption {
  return {
    document,
    signIn: signIn && { ageMaxSeconds: signIn.ageMaxSeconds, acrValues: [...signIn.acrValues] }
  }
}

interface GrantRequest {
  readonly acting?: auth.ActingHolder | undefined
  readonly grantId: string
}

/**
 * `HolderGrantService.PauseGrant`. If it was recorded and the watchers could not be notified, it ends with UNAVAILABLE, and repeating it
 * notifies them.
 */
export function pauseGrantRpc(
  dependencies: ChangeAllowedGrantDependencies
): UnaryHandler<GrantRequest, { grant: auth.AllowedGrant }> {
  return async (request) => {
    const acting = readActing(request.acting)
    const grantId = readUuid(request.grantId, 'grant_id')
    return { grant: toMessage(await changeAllowedGrant(acting, grantId, { kind: 'paused' }, dependencies)) }
  }
}

/** `HolderGrantService.ResumeGrant`. Ends as {@link pauseGrantRpc} when watchers could not be notified. */
export function resumeGrantRpc(
  dependencies: ResumeGrantDependencies
): UnaryHandler<auth.ResumeGrantRequest, auth.ResumeGrantResponse> {
  return async (request) => {
    const acting = readActing(request.acting)
    const grantId = readUuid(request.grantId, 'grant_id')
    const sent = {
      seenActId: request.seenActId,
      idToken: readToken(request.idToken, 'id_token', ID_TOKEN_LENGTH_MAX),
      ownership: readToken(request.ownership, 'ownership', OWNERSHIP_LENGTH_MAX)
    }
    return { grant: toMessage(await resumeGrant(acting, grantId, sent, dependencies)) }
  }
}

function readToken(text: string, field: string, lengthMax: number): string | undefined {
  if (text.length > lengthMax)
    throw invalidCallField(field, `must be at most ${String(lengthMax)} characters`)
  return text === '' ? undefined : text
}

/** `HolderGrantService.LowerGrant`. Ends as {@link pauseGrantRpc} when watchers could not be notified. */
export function lowerGrantRpc(
  dependencies: ChangeAllowedGrantDependencies
): UnaryHandler<auth.LowerGrantRequest, auth.LowerGrantResponse> {
  return async (request) => {
    const acting = readActing(request.acting)
    const grantId = readUuid(request.grantId, 'grant_id')
    const limits = request.limits.map(readLowered)
    const endsAtMs = request.endTime?.getTime()
    if (limits.length === 0 && endsAtMs === undefined)
      throw invalidCallField('limits', 'or end_time must be given')
    const wanted = { kind: 'lowered', limits, endsAtMs } as const
    return { grant: toMessage(await changeAllowedGrant(acting, grantId, wanted, dependencies)) }
  }
}

/** `HolderGrantService.StopGrant`. Ends as {@link pauseGrantRpc} when watchers could not be notified. */
export function stopGrantRpc(
  dependencies: StopGrantDependencies
): UnaryHandler<GrantRequest, { grant: auth.AllowedGrant }> {
  return async (request) => {
    const acting = readActing(request.acting)
    const grantId = readUuid(request.grantId, 'grant_id')
    return { grant: toMessage(await stopGrant(acting, grantId, dependencies)) }
  }
}

function readActing(message: auth.ActingHolder | undefined): ActingHolder {
  const { issuer = '', sub = '' } = message?.holder ?? {}
  const walletAddresses = message?.walletAddresses ?? []
  if (!isName(issuer, ISSUER_LENGTH_MAX)) throw invalidName('issuer', ISSUER_LENGTH_MAX)
  if (!isName(sub, SUB_LENGTH_MAX)) throw invalidName('sub', SUB_LENGTH_MAX)
  if (walletAddresses.length === 0 || walletAddresses.length > WALLET_ADDRESSES_MAX)
    throw invalidCallField(
      'acting.wallet_addresses',
      `must be at least 1 and at most ${String(WALLET_ADDRESSES_MAX)}`
    )
  const read = walletAddresses.map((url, index) => readUrl(url, `acting.wallet_addresses[${String(index)}]`))
  return { issuer, sub, walletAddresses: [...new Set(read)] }
}

function isName(text: string, lengthMax: number): boolean {
  return text !== '' && text.length <= lengthMax && !/\p{Cc}/u.test(text)
}

function invalidName(member: string, lengthMax: number): Error {
  return invalidCallField(
    `acting.holder.${member}`,
    `must be 1 to ${String(lengthMax)} characters, none of them control characters`
  )
}

function readBefore(pageToken: string): string | undefined {
  const id = readTextToken(pageToken)
  if (id !== '' && !isUuid(id)) throw unknownPageToken()
  return id === '' ? undefined : id
}

function readLowered(message: auth.LoweredLimits, index: number): LoweredLimits {
  const field = `limits[${String(index)}]`
  const { accessIndex, debitAmount, receiveAmount } = message
  return {
    accessIndex,
    debitAmount: debitAmount && readAmount(debitAmount, `${field}.debit_amount`),
    receiveAmount: receiveAmount && readAmount(receiveAmount, `${field}.receive_amount`)
  }
}

const STATES: Readonly<Record<AllowedState, auth.AllowedGrantState>> = {
  'in-force': auth.AllowedGrantState.ALLOWED_GRANT_STATE_IN_FORCE,
  paused: auth.AllowedGrantState.ALLOWED_GRANT_STATE_PAUSED,
  ended: auth.AllowedGrantState.ALLOWED_GRANT_STATE_ENDED
}

function readState(state: auth.AllowedGrantState): AllowedState | undefined {
  if (state === auth.AllowedGrantState.ALLOWED_GRANT_STATE_UNSPECIFIED) return undefined
  const found = Object.entries(STATES).find(([, message]) => message === state)
  if (found === undefined) throw invalidCallField('state', 'must be a state of an allowed grant')
  return found[0] as AllowedState // the keys of STATES are the states
}

const KINDS: Readonly<Record<StoredAct['kind'], auth.GrantActKind>> = {
  paused: auth.GrantActKind.GRANT_ACT_KIND_PAUSED,
  resumed: auth.GrantActKind.GRANT_ACT_KIND_RESUMED,
  lowered: auth.GrantActKind.GRANT_ACT_KIND_LOWERED,
  stopped: auth.GrantActKind.GRANT_ACT_KIND_STOPPED
}

function toMessage(grant: AllowedGrant): auth.AllowedGrant {
  return {
    grantId: grant.id,
    walletAddress: grant.walletAddress,
    isConsentOfAnother: grant.isConsentOfAnother,
    client: toClientMessage({
      walletAddress: grant.clientWalletAddress,
      jwkThumbprint: grant.clientJwkThumbprint
    }),
    clientName: grant.clientName ?? '',
    state: STATES[grant.state],
    access: grant.access.map(toItemMessage),
    createTime: new Date(grant.createdAtMs),
    updateTime: new Date(grant.updatedAtMs),
    lastUseTime: dateOf(grant.lastUsedAtMs),
    endTime: dateOf(grant.endedAtMs),
    pauseTime: dateOf(grant.pausedAtMs),
    paymentEndTime: dateOf(grant.payableUntilMs),
    consentedEndTime: dateOf(grant.consentedEndsAtMs),
    isStoppable: !grant.isRevoked
  }
}

/** An access item with what is spent under it, on the wire. */
export function toItemMessage({
  item,
  consentedLimits,
  spent,
  interval
}: AllowedAccessItem): auth.AllowedAccessItem {
  return {
    access: toAccessItemMessage(item),
    consentedLimits: consentedLimits && toLimitsMessage(consentedLimits),
    spentDebitAmount: spent && formatAmount(spent.spentDebitAmount),
    spentReceiveAmount: spent && formatAmount(spent.spentReceiveAmount),
    intervalStartTime: dateOf(interval?.startMs),
    intervalEndTime: dateOf(interval?.endMs)
  }
}

/** An act of an account holder on the wire. */
export function toActMessage({ id, kind, holder, atMs, before, after }: StoredAct): auth.GrantAct {
  return {
    actId: id,
    kind: KINDS[kind],
    holder,
    actTime: new Date(atMs),
    before: toTermsMessage(before),
    after: toTermsMessage(after)
  }
}

function toTermsMessage({ access, endsAtMs, pausedAtMs }: Terms): auth.GrantTerms {
  return {
    access: access.map(toAccessItemMessage),
    endTime: dateOf(endsAtMs),
    pauseTime: dateOf(pausedAtMs)
  }
}

/** An instant on the wire. */
export function dateOf(instantMs: number | undefined): Date | undefined {
  return instantMs === undefined ? undefined : new Date(instantMs)
}
