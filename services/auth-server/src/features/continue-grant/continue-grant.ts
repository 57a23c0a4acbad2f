import { type ContinuedGrant, decideContinuation } from '../../domain/continuation.js'
import type { AccessItem } from '../../domain/access.js'
import type { GrantCounters } from '../../domain/counters.js'
import { accessAt } from '../../domain/grant-expiry.js'
import {
  clientFrozen,
  requestDenied,
  tooFast,
  userDenied,
  wrongInteractionReference
} from '../../domain/errors.js'
import type { AccessTokenWire, ContinueWire, SubjectRequest } from '../../domain/grants.js'
import { makeToken, type NewToken, type TokenMaker } from '../../domain/new-token.js'
import { isSameSecret } from '../../domain/secrets.js'
import type { Queries } from '../../modules/database.js'
import { restartWait } from '../../modules/grants/index.js'
import type { TokenHolders } from '../../modules/tokens/index.js'
import { issueGrant } from './issue-grant.js'

/** The answer to a continuation (interface 2.2). */
export interface ContinuationResponse {
  access_token?: AccessTokenWire
  subject?: SubjectRequest
  continue: ContinueWire
}

/** What continuing grants needs. */
export interface ContinueGrantDependencies extends TokenMaker {
  readonly database: Queries
  readonly tokenHolders: Pick<TokenHolders, 'remember'>
  readonly continuationWaitSeconds: number
  readonly counters: Pick<GrantCounters, 'countGrant'>
}

/** A continuation whose token holder was authorized. */
export interface Continuation {
  readonly grant: ContinuedGrant
  /** `interact_ref`; undefined when the request has none. */
  readonly interactionReference: string | undefined
}

/**
 * Continues a grant (RFC 9635 §5).
 *
 * @throws Refusal `too-fast`, `not-continuable`, `client-frozen`, `user-denied` or `wrong-reference`
 */
export async function continueGrant(
  { grant, interactionReference }: Continuation,
  dependencies: ContinueGrantDependencies
): Promise<ContinuationResponse> {
  const reference =
    interactionReference === undefined ? undefined : { isRight: isReferenceOf(grant, interactionReference) }
  const decision = decideContinuation(grant, reference, dependencies.clock.now())
  switch (decision) {
    case 'issue':
      return issue(grant, dependencies)
    case 'wait':
      return wait(grant, dependencies)
    case 'over':
      throw requestDenied('the grant can no longer be continued')
    case 'rejected':
      throw userDenied(grant.rejectionReason)
    case 'client-frozen':
      throw clientFrozen()
    case 'expired':
      throw requestDenied('the account holder did not answer in time')
    case 'too-late':
      throw requestDenied('the grant was not continued in time')
    case 'wrong-reference':
      throw wrongInteractionReference()
    case 'too-fast':
      throw tooFast()
    case 'unfinished':
      throw requestDenied('the interaction is not finished')
    case 'reference-missing':
      throw requestDenied('the request has no interact_ref')
  }
}

function isReferenceOf(grant: ContinuedGrant, given: string): boolean {
  // A client that was never sent the reference cannot have it.
  return (
    grant.hasFinish && grant.interaction !== undefined && isSameSecret(given, grant.interaction.reference)
  )
}

async function issue(
  grant: ContinuedGrant,
  dependencies: ContinueGrantDependencies
): Promise<ContinuationResponse> {
  const token = grant.access.length === 0 ? undefined : makeToken(dependencies)
  const nowMs = dependencies.clock.now()
  const result = await issueGrant(dependencies.database, grant, token, nowMs)
  if (result === 'client-frozen') throw clientFrozen()
  if (result === 'over') throw requestDenied('the grant can no longer be continued')
  dependencies.counters.countGrant('granted')
  if (token !== undefined) {
    dependencies.tokenHolders.remember({ id: token.id, secretHash: token.hash, holder: grant.holder })
  }
  return {
    ...(token === undefined ? {} : { access_token: tellClient(token, grant.access, result.endsAtMs, nowMs) }),
    ...(grant.subject === undefined ? {} : { subject: grant.subject }),
    continue: continuationOf(grant, dependencies)
  }
}

function tellClient(
  token: NewToken,
  access: readonly AccessItem[],
  endsAtMs: number | undefined,
  nowMs: number
): AccessTokenWire {
  return token.tellClient(accessAt(access, nowMs), Math.min(token.expiresAtMs, endsAtMs ?? Infinity))
}

async function wait(
  grant: ContinuedGrant,
  dependencies: ContinueGrantDependencies
): Promise<ContinuationResponse> {
  const { clock, database, continuationWaitSeconds } = dependencies
  const nowMs = clock.now()
  const continueAfterMs = nowMs + continuationWaitSeconds * 1_000
  // Of two concurrent polls, the second is too early by definition.
  if (!(await restartWait(database, grant.id, continueAfterMs, nowMs))) throw tooFast()
  return { continue: { ...continuationOf(grant, dependencies), wait: continuationWaitSeconds } }
}

/** The continuation token stays the same for the life of the grant. */
function continuationOf(grant: ContinuedGrant, { addresses }: ContinueGrantDependencies): ContinueWire {
  return { access_token: { value: grant.continuationToken }, uri: addresses.continueUri(grant.id) }
}
