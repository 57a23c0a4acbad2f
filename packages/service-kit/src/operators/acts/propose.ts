import { createHash } from 'node:crypto'
import { inTransaction, type RawQueries, type TransactionalClient } from '@open-payments-server/database'
import type { Clock } from '@open-payments-server/value-types/clock'
import { newId, type Random } from '@open-payments-server/value-types/identifiers'
import { lockActs, type NewAction, recordAction } from './action-store.js'
import { changedMembers, formOf, heldSubject, membersOf, type Order, type Seen } from './perform.js'
import { isEmpty, wholeRequestText } from './plain.js'
import { findSameProposal, insertProposal, type NewProposal } from './proposal-store.js'
import { secretInProposal } from './refusals.js'
import type { SecondPersonRule } from './second-person.js'

const MS_PER_HOUR = 3_600_000

/** What keeping proposals needs. */
export interface ProposeDependencies<Transaction extends RawQueries> {
  readonly database: TransactionalClient<Transaction>
  readonly clock: Clock
  readonly random: Random
  readonly config: { readonly OPERATOR_PROPOSAL_HOURS: number }
}

/** The name of a method in its service. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** Whether an act that was seen to do something needs a second person. */
export async function needsSecondPerson<Request extends object, Response, Dependencies>(
  { method, act, request }: Order<Request, Response, Dependencies>,
  { before }: Pick<Seen, 'before'>,
  dependencies: Dependencies,
  rule: SecondPersonRule
): Promise<boolean> {
  if (act.neverWaits === true || act.isHarmless?.(request) === true) return false
  if (rule.methods.has(nameOf(method.path))) return true
  if (!rule.countsAmounts || act.amount === undefined) return false
  const amount = await act.amount(request, dependencies, membersOf(before))
  return amount !== undefined && rule.isAtOrAbove(amount)
}

/** @throws RpcError FAILED_PRECONDITION for a request that a second person must not read */
export function assertProposable<Request extends object, Response, Dependencies>({
  act,
  request
}: Order<Request, Response, Dependencies>): void {
  const secret = act.secrets?.find((name) => !isEmpty(request[name]))
  if (secret === undefined && act.holdsSecret === undefined) return
  throw secretInProposal(act.withoutSecrets)
}

/**
 * Keeps an act that needs a second person, with its encoded request, and records that it was proposed.
 *
 * @returns the proposal; the one before it if the same person proposed the same, and it can still be approved
 */
export async function propose<Request extends object, Response, Dependencies, Transaction extends RawQueries>(
  order: Order<Request, Response, Dependencies>,
  action: NewAction,
  { subject, before, after }: Seen,
  { database, clock, random, config }: ProposeDependencies<Transaction>
): Promise<NewProposal> {
  const { method, act, request, context } = order
  const requestBytes = method.requestSerialize(request)
  const requestHash = createHash('sha256').update(requestBytes).digest()
  const nowMs = clock.now()
  const proposal: NewProposal = {
    id: newId(clock, random),
    method: method.path,
    subject: heldSubject(subject),
    request: wholeRequestText(request, formOf(order)),
    requestBytes,
    requestHash,
    before,
    after,
    reason: action.reason,
    proposer: context.actor,
    proposedAtMs: nowMs,
    expiresAtMs: nowMs + config.OPERATOR_PROPOSAL_HOURS * MS_PER_HOUR
  }
  return inTransaction(database, async (transaction) => {
    await lockActs(transaction, `proposal ${context.actor.key} ${requestHash.toString('hex')}`)
    const same = await findSameProposal(transaction, proposal, nowMs)
    // What it replaces may be another one by now: then the proposal that there is can no longer be approved.
    if (same !== undefined && changedMembers(act.replaces?.(request) ?? [], same.before, before).length === 0)
      return same
    await insertProposal(transaction, proposal)
    const proposed = { ...action, subject: proposal.subject, proposalId: proposal.id }
    await recordAction(transaction, proposed, { outcome: 'proposed', before, endedAtMs: nowMs })
    return proposal
  })
}
