import { operators } from '@open-payments-server/proto'
import { Command, Option } from 'commander'
import type { ProposedAct } from '../action-client.js'
import { limitOption, parseUuid } from '../arguments.js'
import { textOf } from '../messages.js'
import { instantText, type Printer } from '../output.js'
import type { RunSession } from '../session.js'
import { describeOperator, jsonOf, methodName, operatorJson } from './actions.js'

const { ProposalState } = operators

const STATES = {
  open: ProposalState.PROPOSAL_STATE_OPEN,
  approved: ProposalState.PROPOSAL_STATE_APPROVED,
  rejected: ProposalState.PROPOSAL_STATE_REJECTED,
  expired: ProposalState.PROPOSAL_STATE_EXPIRED,
  all: ProposalState.PROPOSAL_STATE_UNSPECIFIED
} as const

type StateName = keyof typeof STATES

/** `proposals list|show|approve|reject` */
export function proposalsCommand(run: RunSession): Command {
  const proposals = new Command('proposals').description('acts of operators that await a second person')
  proposals
    .command('list')
    .description('list proposals, the newest first')
    .addOption(
      new Option('--state <state>', 'only those in this state').choices(Object.keys(STATES)).default('open')
    )
    .addOption(limitOption())
    .action(({ state, limit }: { readonly state: StateName; readonly limit: number }, command: Command) =>
      run(command, async ({ client, print }) => {
        const { items, more } = await client.actions.listProposals(STATES[state], limit)
        print.list(items, {
          name: 'proposals',
          more,
          columns: [
            ['Id', ({ id }) => id],
            ['State', (proposal) => stateName(proposal)],
            ['What', ({ method, request }) => `${methodName(method)} ${request}`],
            ['Proposed by', ({ proposedBy }) => describeOperator(proposedBy)],
            ['Until', ({ expireTime }) => instantText(expireTime)],
            ['Reason', ({ reason }) => reason]
          ],
          json: proposalJson
        })
      })
    )
  proposals
    .command('show')
    .description('show a proposal: what is to be done, and what it changes')
    .argument('<proposal-id>', 'its id', parseUuid)
    .action((id: string, _options: unknown, command: Command) =>
      run(command, async ({ client, print }) => {
        printProposal(print, await client.actions.getProposal(id))
      })
    )
  for (const answer of ['approve', 'reject'] as const)
    proposals
      .command(answer)
      .description(
        answer === 'approve'
          ? 'do what somebody else proposed; repeating it has no effect'
          : 'decide that it is not done; repeating it has no effect'
      )
      .argument('<proposal-id>', 'its id', parseUuid)
      .option('--reason <text>', 'why')
      .action((id: string, { reason = '' }: { readonly reason?: string }, command: Command) =>
        run(command, async ({ client, print }) => {
          printProposal(print, await client.actions.decide(answer, id, reason))
        })
      )
  return proposals
}

function printProposal(print: Printer, proposal: ProposedAct): void {
  print.facts(proposalJson(proposal), [
    ['Id', proposal.id],
    ['State', stateName(proposal)],
    ['Service', proposal.service],
    ['What', proposal.method],
    ['On', `${proposal.subjectKind} ${proposal.subject}`],
    ['Request', proposal.request],
    ['Before', textOf(proposal.before) ?? '-'],
    ['After', textOf(proposal.after) ?? '-'],
    ['Reason', textOf(proposal.reason) ?? '-'],
    ['Proposed by', describeOperator(proposal.proposedBy)],
    ['Proposed at', instantText(proposal.createTime)],
    ['Until', instantText(proposal.expireTime)],
    ['Decided by', describeOperator(proposal.decidedBy)],
    ['Decided at', instantText(proposal.decideTime)],
    ['Decision', textOf(proposal.decisionReason) ?? '-']
  ])
}

function stateName({ state }: ProposedAct): string {
  return Object.entries(STATES).find(([, message]) => message === state)?.[0] ?? 'unknown'
}

function proposalJson(proposal: ProposedAct): unknown {
  return {
    id: proposal.id,
    service: proposal.service,
    state: stateName(proposal),
    method: proposal.method,
    subjectKind: proposal.subjectKind,
    subject: proposal.subject,
    request: jsonOf(proposal.request),
    requestHash: Buffer.from(proposal.requestHash).toString('hex'),
    before: jsonOf(proposal.before),
    after: jsonOf(proposal.after),
    reason: textOf(proposal.reason) ?? null,
    proposedBy: operatorJson(proposal.proposedBy),
    proposedAt: proposal.createTime ?? null,
    expiresAt: proposal.expireTime ?? null,
    decidedBy: operatorJson(proposal.decidedBy),
    decidedAt: proposal.decideTime ?? null,
    decisionReason: textOf(proposal.decisionReason) ?? null
  }
}
