import { inTransaction, type RawQueries, type TransactionalClient } from '@open-payments-server/database'
import type { MethodDefinition, ServiceDefinition, UnaryHandler } from '@open-payments-server/grpc-transport'
import type { Clock } from '@open-payments-server/value-types/clock'
import { newId, type Random } from '@open-payments-server/value-types/identifiers'
import type { OperatedService, OperatorContext } from '../admission.js'
import { type Actor, isSamePerson, type Role } from '../operator.js'
import type { Act, Acting, Later, Subject } from './act.js'
import { completeAction, type NewAction, recordAction } from './action-store.js'
import {
  assertNotOwn,
  type Attempt,
  describeRequest,
  heldSubject,
  look,
  type Order,
  perform,
  see,
  type Seen
} from './perform.js'
import { requestText } from './plain.js'
import {
  decideProposal,
  findProposal,
  lockProposal,
  type Proposal,
  type ProposalDecision
} from './proposal-store.js'
import { assertProposable, nameOf, needsSecondPerson, propose } from './propose.js'
import {
  assertOpen,
  awaitsSecondPerson,
  isDecidedBy,
  malformedOf,
  nameActor,
  noPerson,
  noProposal,
  problemOf,
  samePerson
} from './refusals.js'
import { readSecondPersonRule, type SecondPersonConfig, type SecondPersonRule } from './second-person.js'

/**
 * Maximum duration of the transaction of an act, in milliseconds: it has a dozen statements, and those on the same subject wait for each
 * other. Each statement has the limit that every statement has.
 */
const ACT_TIMEOUT_MS = 30_000

/** What recording acts needs. */
export interface ActsOptions<Transaction extends RawQueries, Dependencies extends object> {
  readonly database: TransactionalClient<Transaction> & RawQueries
  /** What acts need outside of transactions. */
  readonly dependencies: Dependencies
  /** The same within a transaction. Whatever reaches beyond the database waits until `later`: the transaction may be rolled back. */
  readonly acting: (
    transaction: Transaction,
    later: Later,
    onUnchanged: Acting['onUnchanged']
  ) => Dependencies
  readonly clock: Clock
  readonly random: Random
  readonly config: SecondPersonConfig & { readonly OPERATOR_PROPOSAL_HOURS: number }
}

/** Makes handlers of calls that change something. */
export interface OperatorActs<Dependencies> {
  /**
   * A handler that does nothing without a record of it, and proposes what needs a second person.
   *
   * @param rpc makes the handler for the dependencies that it is to use
   */
  unary<Request extends object, Response>(
    method: MethodDefinition<Request, Response>,
    act: Act<Request, Response, Dependencies>,
    rpc: (dependencies: Dependencies) => UnaryHandler<Request, Response>
  ): (request: Request, context: OperatorContext) => Promise<Response>
}

/** An act that may have been proposed. */
interface KnownAct<Transaction, Dependencies> {
  readonly name: string
  readonly isProposable: boolean
  readonly prepare: (proposal: Proposal) => Promise<void>
  readonly tellAgain: (proposal: Proposal, dependencies: Dependencies) => Promise<void>
  readonly carryOut: (
    proposal: Proposal,
    context: OperatorContext,
    approver: Actor,
    attempt: Attempt<Transaction, Dependencies>
  ) => Promise<{ readonly seen: Seen; readonly entry: Pick<NewAction, 'request' | 'reason'> }>
}

/** Rolls a transaction back whose act needs a second person. */
class NeedsSecondPerson extends Error {
  constructor(readonly seen: Seen) {
    super('the act needs a second person')
  }
}

/** The acts of operators of a service: recorded with what they change, and proposed where they need a second person. */
export class Acts<
  Transaction extends RawQueries,
  Dependencies extends object
> implements OperatorActs<Dependencies> {
  readonly #options: ActsOptions<Transaction, Dependencies>
  readonly #known = new Map<string, KnownAct<Transaction, Dependencies>>()
  #roles: ReadonlyMap<string, Role> = new Map()
  #rule: SecondPersonRule | undefined

  constructor(options: ActsOptions<Transaction, Dependencies>) {
    this.#options = options
  }

  unary<Request extends object, Response>(
    method: MethodDefinition<Request, Response>,
    act: Act<Request, Response, Dependencies>,
    rpc: (dependencies: Dependencies) => UnaryHandler<Request, Response>
  ): (request: Request, context: OperatorContext) => Promise<Response> {
    const orderOf = (request: Request, context: OperatorContext) => ({ method, act, rpc, request, context })
    this.#known.set(method.path, {
      name: nameOf(method.path),
      isProposable:
        act.inSteps === undefined && act.neverWaits === undefined && act.holdsSecret === undefined,
      prepare: async ({ requestBytes }) =>
        act.prepare?.(method.requestDeserialize(requestBytes), this.#options.dependencies),
      tellAgain: async ({ requestBytes }, dependencies) =>
        act.tellAgain?.(method.requestDeserialize(requestBytes), dependencies),
      carryOut: async ({ requestBytes, before }, context, approver, attempt) => {
        const approval = { by: approver, before }
        const order = { ...orderOf(method.requestDeserialize(requestBytes), context), approval }
        return { seen: (await perform(order, attempt)).seen, entry: describeRequest(order) }
      }
    })
    return async (request, context) => {
      const order = orderOf(request, context)
      return act.inSteps === true ? this.#inSteps(order) : this.#inTransaction(order)
    }
  }

  /**
   * Ends the preparations: every method that changes something must be recorded.
   *
   * @throws ConfigurationError for settings about a second person that cannot be used; Error naming a method that is not recorded
   */
  begin(services: readonly Pick<OperatedService<ServiceDefinition>, 'definition' | 'roles'>[]): void {
    const roles = services.flatMap(({ definition, roles: ofMethods }) =>
      Object.entries(definition).map(([name, { path }]) => [path, ofMethods[name] ?? 'operator'] as const)
    )
    const unrecorded = roles.filter(([path, role]) => role !== 'viewer' && !this.#known.has(path))
    if (unrecorded.length > 0)
      throw new Error(`nothing records what operators do by ${unrecorded.map(([path]) => path).join(', ')}`)
    this.#roles = new Map(roles)
    const possible = [...this.#known.values()].filter(({ isProposable }) => isProposable)
    this.#rule = readSecondPersonRule(
      this.#options.config,
      possible.map(({ name }) => name)
    )
  }

  /**
   * Does what was proposed, once, in one transaction with the decision. Repeating it tells others of it again.
   *
   * @returns the proposal after it
   * @throws RpcError as the contract says; the refusal of the act itself, after which the proposal still awaits a decision
   */
  async approve(decision: { id: string; reason: string }, context: OperatorContext): Promise<Proposal> {
    const { database } = this.#options
    const found = await findProposal(database, decision.id)
    const known = found && this.#known.get(found.method)
    if (found !== undefined && found.decided === undefined) await known?.prepare(found)
    return this.#decide('approved', decision, context, async (proposal, attempt) => {
      if (context.actor.person === undefined) throw noPerson()
      if (isSamePerson(proposal.proposer, context.actor)) throw samePerson()
      if (known === undefined) throw new Error(`there is no act ${proposal.method} that could be approved`)
      const role = this.#roles.get(proposal.method) ?? 'operator'
      const byBoth = {
        ...context,
        method: proposal.method,
        role,
        actor: proposal.proposer,
        clientNames: [nameActor(proposal.proposer), `approved by ${nameActor(context.actor)}`]
      }
      const { seen, entry } = await known.carryOut(proposal, byBoth, context.actor, attempt)
      const action = {
        ...this.#newAction(byBoth, seen.subject, entry),
        proposalId: proposal.id,
        approver: context.actor
      }
      await recordAction(attempt.transaction, action, { ...seen, endedAtMs: this.#options.clock.now() })
    })
  }

  /**
   * Decides that what was proposed is not done.
   *
   * @returns the proposal after it
   * @throws RpcError as the contract says
   */
  reject(decision: { id: string; reason: string }, context: OperatorContext): Promise<Proposal> {
    return this.#decide('rejected', decision, context, () => Promise.resolve())
  }

  async #decide(
    decision: ProposalDecision,
    { id, reason }: { readonly id: string; readonly reason: string },
    context: OperatorContext,
    work: (proposal: Proposal, attempt: Attempt<Transaction, Dependencies>) => Promise<void>
  ): Promise<Proposal> {
    const { clock } = this.#options
    const subject: Subject = { kind: 'proposal', name: id }
    const action = {
      ...this.#newAction(context, subject, {
        request: requestText({ proposalId: id }, { blank: {} }),
        reason
      }),
      proposalId: id
    }
    return this.#transact(action, async (transaction, later) => {
      const proposal = await lockProposal(transaction, id)
      if (proposal === undefined) throw noProposal()
      if (isDecidedBy(proposal, decision, context.actor)) {
        if (decision === 'approved')
          await this.#known
            .get(proposal.method)
            ?.tellAgain(proposal, this.#attempt(transaction, later).dependencies)
        return proposal
      }
      const nowMs = clock.now()
      assertOpen(proposal, nowMs)
      await work(proposal, this.#attempt(transaction, later))
      const decided = { decision, by: context.actor, atMs: nowMs, reason }
      await decideProposal(transaction, id, decided)
      await recordAction(transaction, action, { outcome: 'done', endedAtMs: nowMs })
      return { ...proposal, decided }
    })
  }

  async #inTransaction<Request extends object, Response>(
    order: Order<Request, Response, Dependencies>
  ): Promise<Response> {
    const { act, request } = order
    const { clock, dependencies } = this.#options
    await act.prepare?.(request, dependencies)
    const action = this.#actionOf(order)
    try {
      return await this.#transact(action, async (transaction, later) => {
        const attempt = this.#attempt(transaction, later)
        const { response, seen } = await perform(order, attempt)
        // Judged by what it did: whatever decides is there by now, and what was so already needs nobody.
        if (
          seen.outcome === 'done' &&
          (await needsSecondPerson(order, seen, attempt.dependencies, this.#secondPersonRule))
        ) {
          assertProposable(order)
          throw new NeedsSecondPerson(seen)
        }
        const end = { ...seen, endedAtMs: clock.now() }
        await recordAction(transaction, { ...action, subject: seen.subject }, end)
        return response
      })
    } catch (error) {
      if (!(error instanceof NeedsSecondPerson)) throw error
      throw awaitsSecondPerson(await propose(order, action, error.seen, this.#options))
    }
  }

  get #secondPersonRule(): SecondPersonRule {
    if (this.#rule === undefined) throw new Error('acts are done before they are all known')
    return this.#rule
  }

  #attempt(transaction: Transaction, later: Later): Attempt<Transaction, Dependencies> {
    let isUnchanged = false
    const onUnchanged = (): void => {
      isUnchanged = true
    }
    const dependencies = this.#options.acting(transaction, later, onUnchanged)
    return { transaction, dependencies, isUnchanged: () => isUnchanged }
  }

  /**
   * Does something in one transaction, and afterwards what it wanted done later. Records a refusal.
   *
   * @param work may be repeated
   */
  async #transact<Result>(
    action: NewAction,
    work: (transaction: Transaction, later: Later) => Promise<Result>
  ): Promise<Result> {
    const { database, clock } = this.#options
    let afterwards: Parameters<Later>[0][] = []
    let result: Result
    try {
      result = await inTransaction(
        database,
        (transaction) => {
          afterwards = []
          return work(transaction, (next) => afterwards.push(next))
        },
        { timeout: ACT_TIMEOUT_MS }
      )
    } catch (error) {
      const problem = problemOf(error)
      if (problem !== undefined)
        await recordAction(database, action, { outcome: 'refused', problem, endedAtMs: clock.now() })
      throw error
    }
    for (const next of afterwards) await next()
    return result
  }

  async #inSteps<Request extends object, Response>(
    order: Order<Request, Response, Dependencies>
  ): Promise<Response> {
    const { act, request, context, rpc } = order
    const { database, dependencies, clock } = this.#options
    const action = this.#actionOf(order)
    await recordAction(database, action, undefined)
    const before = await look(act, request, dependencies)
    let response: Response
    try {
      await assertNotOwn(order, dependencies)
      response = await rpc(dependencies)(request, context)
    } catch (error) {
      const problem = problemOf(error) ?? malformedOf(error)
      // Whether anything else had an effect is not known: its record stays without an end.
      if (problem !== undefined)
        await completeAction(database, action, { outcome: 'refused', problem, endedAtMs: clock.now() })
      throw error
    }
    const seen = await see(order, response, before, dependencies)
    await completeAction(database, { ...action, subject: seen.subject }, { ...seen, endedAtMs: clock.now() })
    return response
  }

  #actionOf<Request extends object, Response>(order: Order<Request, Response, Dependencies>): NewAction {
    const { act, request, context } = order
    const subject = act.subject(request, undefined, this.#options.dependencies)
    return this.#newAction(context, subject, describeRequest(order))
  }

  #newAction(
    { actor, role, method }: OperatorContext,
    subject: Subject,
    described: Pick<NewAction, 'request' | 'reason'>
  ): NewAction {
    const { clock, random } = this.#options
    return {
      ...described,
      id: newId(clock, random),
      actor,
      role,
      method,
      subject: heldSubject(subject),
      actedAtMs: clock.now(),
      proposalId: undefined,
      approver: undefined
    }
  }
}
