import {
  callUnary,
  type ChannelOptions,
  createClient,
  isRpcError,
  type RequestOf,
  type ResponseOf,
  status,
  type UnaryMethodName
} from '@open-payments-server/grpc-transport'
import { operators } from '@open-payments-server/proto'
import { EVENTFUL_SERVICES, type EventfulService } from './eventful-service.js'
import { type Listed, listPages, present } from './messages.js'

/** What an operator did in a service. */
export type RecordedAct = operators.OperatorAction & { readonly service: EventfulService }

/** What awaits a second person in a service, or did. */
export type ProposedAct = operators.Proposal & { readonly service: EventfulService }

/** Which acts are listed; all conditions apply. */
export interface ActFilter {
  /** Empty for everybody. */
  readonly operator: string
  /** Empty for everything. */
  readonly subject: string
  readonly fromTime: Date | undefined
  readonly toTime: Date | undefined
}

/** Reads what operators did in both services, and decides about what they proposed. */
export class ActionClient {
  readonly #clients: Readonly<Record<EventfulService, operators.OperatorActionServiceClient>>
  readonly #naming: (service: EventfulService) => (error: unknown) => never

  /** @param naming names the service in the error of a call that it could not be asked */
  constructor(
    optionsFor: (service: EventfulService) => ChannelOptions,
    naming: (service: EventfulService) => (error: unknown) => never
  ) {
    const connect = (service: EventfulService) =>
      createClient(operators.OperatorActionServiceClient, optionsFor(service))
    this.#clients = { 'auth-server': connect('auth-server'), 'resource-server': connect('resource-server') }
    this.#naming = naming
  }

  /** Closes the connections. */
  close(): void {
    for (const client of Object.values(this.#clients)) client.close()
  }

  /** Who a service takes this command line for, and what they may do. */
  getOperator(service: EventfulService): Promise<operators.GetOperatorResponse> {
    return this.#call(service, 'getOperator', {})
  }

  /** Lists acts in both services, newest first. */
  listActions(filter: ActFilter, limit: number): Promise<Listed<RecordedAct>> {
    return ofBoth(
      limit,
      ({ actTime }) => actTime,
      (service) =>
        listPages(limit, async (page) => {
          const listed = await this.#call(service, 'listOperatorActions', { ...filter, ...page })
          const items = listed.actions.map((action) => ({ ...action, service }))
          return { items, nextPageToken: listed.nextPageToken }
        })
    )
  }

  /** Lists proposals in both services, newest first. */
  listProposals(state: operators.ProposalState, limit: number): Promise<Listed<ProposedAct>> {
    return ofBoth(
      limit,
      ({ createTime }) => createTime,
      (service) =>
        listPages(limit, async (page) => {
          const listed = await this.#call(service, 'listProposals', { state, ...page })
          const items = listed.proposals.map((proposal) => ({ ...proposal, service }))
          return { items, nextPageToken: listed.nextPageToken }
        })
    )
  }

  /** Reads a proposal by its id, in whichever service has it. */
  async getProposal(proposalId: string): Promise<ProposedAct> {
    for (const service of EVENTFUL_SERVICES) {
      try {
        const { proposal } = await this.#call(service, 'getProposal', { proposalId })
        return { ...present(proposal, 'proposal'), service }
      } catch (error) {
        const isLast = service === EVENTFUL_SERVICES.at(-1)
        if (isLast || !isRpcError(error, status.NOT_FOUND)) throw error
      }
    }
    throw new Error('no service was asked for the proposal')
  }

  /**
   * Approves or rejects a proposal. Idempotent.
   *
   * @param reason empty for none
   */
  async decide(answer: 'approve' | 'reject', proposalId: string, reason: string): Promise<ProposedAct> {
    const { service } = await this.getProposal(proposalId)
    const method = answer === 'approve' ? 'approveProposal' : 'rejectProposal'
    const { proposal } = await this.#call(service, method, { proposalId, reason })
    return { ...present(proposal, 'proposal'), service }
  }

  #call<Name extends UnaryMethodName<operators.OperatorActionServiceClient>>(
    service: EventfulService,
    method: Name,
    request: RequestOf<operators.OperatorActionServiceClient, Name>
  ): Promise<ResponseOf<operators.OperatorActionServiceClient, Name>> {
    return callUnary(this.#clients[service], method, request, { idempotent: true }).catch(
      this.#naming(service)
    )
  }
}

/** The newest items of both services. */
async function ofBoth<Item>(
  limit: number,
  timeOf: (item: Item) => Date | undefined,
  list: (service: EventfulService) => Promise<Listed<Item>>
): Promise<Listed<Item>> {
  const lists = await Promise.all(EVENTFUL_SERVICES.map(list))
  const items = lists
    .flatMap((listed) => listed.items)
    .sort((one, other) => (timeOf(other)?.getTime() ?? 0) - (timeOf(one)?.getTime() ?? 0))
  return {
    items: items.slice(0, limit),
    more: items.length > limit || lists.some(({ more }) => more)
  }
}
