import { RpcError, status } from '@open-payments-server/grpc-transport'
import { FieldRefusal } from '@open-payments-server/value-types/refusals'
import { type Actor, isSamePerson } from '../operator.js'
import type { NewProposal, Proposal, ProposalDecision } from './proposal-store.js'

/** Refusals by their code that changed nothing, and are recorded. A malformed request asks for nothing. */
const RECORDED_CODES: ReadonlySet<status> = new Set([
  status.NOT_FOUND,
  status.ALREADY_EXISTS,
  status.FAILED_PRECONDITION,
  status.PERMISSION_DENIED
])

/** Why something was refused that changed nothing; undefined for a malformed request, and for any other error. */
export function problemOf(error: unknown): string | undefined {
  if (error instanceof FieldRefusal) return error.because === 'invalid' ? undefined : error.message
  return error instanceof RpcError && RECORDED_CODES.has(error.code) ? error.message : undefined
}

/** What is malformed in a request; undefined for any other error. */
export function malformedOf(error: unknown): string | undefined {
  if (error instanceof FieldRefusal) return error.because === 'invalid' ? error.message : undefined
  return error instanceof RpcError && error.code === status.INVALID_ARGUMENT ? error.message : undefined
}

/** The error for a request that a second person must not read. @param instead what to do in its place */
export function secretInProposal(instead = 'do it in a call without the secret'): RpcError {
  return new RpcError({
    code: status.FAILED_PRECONDITION,
    message: `This needs a second person, who must not learn the secret in it: ${instead}`
  })
}

/** The answer to a call that awaits a second person. */
export function awaitsSecondPerson({ id, expiresAtMs }: NewProposal): RpcError {
  return new RpcError({
    code: status.FAILED_PRECONDITION,
    message: `This is done once a second person approves it, until ${new Date(expiresAtMs).toISOString()}: proposal ${id}`,
    reference: id
  })
}

/** Whether a proposal was decided in this way by this person: then repeating it has no further effect. */
export function isDecidedBy({ decided }: Proposal, decision: ProposalDecision, actor: Actor): boolean {
  return decided?.decision === decision && (decision === 'rejected' || isSamePerson(decided.by, actor))
}

/** @throws RpcError FAILED_PRECONDITION for a proposal that nobody can decide about any more */
export function assertOpen({ decided, expiresAtMs }: Proposal, nowMs: number): void {
  if (decided !== undefined)
    throw notOpen(
      `was ${decided.decision} at ${new Date(decided.atMs).toISOString()} by ${nameActor(decided.by)}`
    )
  if (expiresAtMs <= nowMs) throw notOpen(`could be decided until ${new Date(expiresAtMs).toISOString()}`)
}

/** The error for whoever would approve what replaces something else by now. @param members what is no longer as it was proposed */
export function changedSince(members: readonly string[]): RpcError {
  return notOpen(
    `would replace something else than what it shows (${members.join(', ')}): reject it, and let it be proposed anew`
  )
}

function notOpen(problem: string): RpcError {
  return new RpcError({
    code: status.FAILED_PRECONDITION,
    message: `the proposal ${problem}`,
    field: 'proposal_id'
  })
}

/** The error for a proposal that is unknown. */
export function noProposal(): RpcError {
  return new RpcError({ code: status.NOT_FOUND, message: 'there is no such proposal', field: 'proposal_id' })
}

/** The error for whoever would approve what they proposed. */
export function samePerson(): RpcError {
  return new RpcError({
    code: status.PERMISSION_DENIED,
    message: 'whoever proposed it cannot approve it',
    field: 'proposal_id'
  })
}

/** The error for a machine that would approve a proposal. */
export function noPerson(): RpcError {
  return new RpcError({
    code: status.PERMISSION_DENIED,
    message: 'a machine is no second person: a person must approve it, by their ID token',
    field: 'proposal_id'
  })
}

/** The error for whoever would order or approve what is their own matter. */
export function ownMatter(field: string): RpcError {
  return new RpcError({
    code: status.PERMISSION_DENIED,
    message: 'whoever holds the account cannot decide this: somebody else must',
    field
  })
}

/** Who operates, in words. */
export function nameActor({ key, person }: Actor): string {
  return person === undefined || person.name === '' ? key : `${key} (${person.name})`
}
