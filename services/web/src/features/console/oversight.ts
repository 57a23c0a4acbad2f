import { type events, operators } from '@open-payments-server/proto'
import { z } from 'zod'
import type { Block, Cell, Fact } from '../../pages/console/blocks.js'
import { OperationRefused, SERVICES, type ServiceName } from '../operated.js'
import { serviceOf } from './endpoints.js'
import { PAGE_SIZE } from './payments.js'
import { NONE, pathTo } from './show.js'
import { readSpan } from './find.js'
import type { Reply, Visit } from './visit.js'

/** Number of audits that are shown of each service. */
const AUDITS_SHOWN = 30

const told = z.object({
  checks: z.array(z.object({ invariant: z.string(), checkedCount: z.string(), holds: z.boolean() }))
})

/** `/audits`: what audits found, over time. */
export async function listAudits(visit: Visit): Promise<Reply> {
  const { t, operated } = visit
  const pages = await Promise.all(
    SERVICES.map((service) =>
      operated.events(service, 'listAudits', { pageSize: AUDITS_SHOWN, pageToken: '' })
    )
  )
  return {
    title: t('audits'),
    section: 'audits',
    blocks: [
      { kind: 'text', text: t('auditsText') },
      {
        kind: 'acts',
        acts: [{ label: t('act.run-audit'), href: pathTo('/act/run-audit', { subject: 'all' }) }]
      },
      ...SERVICES.map((service, place) => auditTable(visit, service, pages[place]?.events ?? []))
    ]
  }
}

function auditTable({ t, show }: Visit, service: ServiceName, found: readonly events.Event[]): Block {
  return {
    kind: 'table',
    title: service,
    empty: t('noAudits'),
    columns: [
      { label: t('at') },
      { label: t('result') },
      { label: t('checks'), isNumber: true },
      { label: t('rowsChecked'), isNumber: true },
      { label: t('violated') }
    ],
    rows: found.map(({ time, type, data }) => {
      const { checks } = told.safeParse(JSON.parse(data)).data ?? { checks: [] }
      const rows = checks.reduce((sum, { checkedCount }) => sum + BigInt(checkedCount), 0n)
      const violated = checks.filter(({ holds }) => !holds).map(({ invariant }) => invariant)
      return [
        show.instant(time),
        type === 'audit.passed'
          ? { text: t('passed'), tone: 'good' }
          : { text: t('violations'), tone: 'bad' },
        String(checks.length),
        rows.toString(),
        violated.length === 0 ? NONE : violated.join(' ')
      ]
    })
  }
}

/** Who operates, in a line. */
function operatorText(operator: operators.Operator | undefined): string {
  if (operator === undefined) return NONE
  const { issuer, sub, name, machine } = operator
  return machine === '' ? `${sub} at ${issuer}${name === '' ? '' : ` (${name})`}` : machine
}

const OUTCOMES: Readonly<
  Record<
    number,
    'outcome.open' | 'outcome.done' | 'outcome.unchanged' | 'outcome.refused' | 'outcome.proposed'
  >
> = {
  [operators.ActionOutcome.ACTION_OUTCOME_UNSPECIFIED]: 'outcome.open',
  [operators.ActionOutcome.ACTION_OUTCOME_DONE]: 'outcome.done',
  [operators.ActionOutcome.ACTION_OUTCOME_UNCHANGED]: 'outcome.unchanged',
  [operators.ActionOutcome.ACTION_OUTCOME_REFUSED]: 'outcome.refused',
  [operators.ActionOutcome.ACTION_OUTCOME_PROPOSED]: 'outcome.proposed'
}

/** The last part of the name of a method. */
function methodText(method: string): string {
  return method.split('/').at(-1) ?? method
}

/** `/actions`: what operators did in a service, newest first. */
export async function listActions(visit: Visit): Promise<Reply> {
  const { t, operated, query } = visit
  const service = serviceOf(query.get('service') ?? SERVICES[0])
  const valueOf = (name: string): string => (query.get(name) ?? '').trim()
  const span = readSpan(valueOf('day'))
  const page = await operated.acts(service, 'listOperatorActions', {
    operator: valueOf('by'),
    subject: valueOf('subject'),
    fromTime: span?.from,
    toTime: span?.until,
    pageSize: PAGE_SIZE,
    pageToken: query.get('after') ?? ''
  })
  return {
    title: t('actions'),
    section: 'actions',
    blocks: [
      {
        kind: 'filter',
        label: t('filter'),
        action: '/actions',
        button: t('show'),
        fields: [
          {
            kind: 'choice',
            name: 'service',
            label: t('service'),
            value: service,
            options: SERVICES.map((each) => [each, each] as const)
          },
          { kind: 'text', name: 'subject', label: t('subject'), value: valueOf('subject') },
          { kind: 'text', name: 'by', label: t('by'), value: valueOf('by'), hint: 'sub at https://…' },
          { kind: 'text', name: 'day', label: t('day'), value: valueOf('day'), hint: '2026-01-31' }
        ]
      },
      {
        kind: 'table',
        title: t('actions'),
        isTitleHidden: true,
        empty: t('noActions'),
        next:
          page.nextPageToken === ''
            ? undefined
            : pathTo('/actions', { ...Object.fromEntries(query), after: page.nextPageToken }),
        columns: [
          { label: t('at') },
          { label: t('by') },
          { label: t('act') },
          { label: t('subject') },
          { label: t('result') },
          { label: t('before') },
          { label: t('after') },
          { label: t('reason') }
        ],
        rows: page.actions.map((action) => actionRow(visit, action))
      }
    ]
  }
}

function actionRow({ t, show }: Visit, action: operators.OperatorAction): (string | Cell)[] {
  return [
    show.instant(action.actTime),
    {
      text: operatorText(action.operator),
      remark: action.approvedBy === undefined ? '' : t('secondPerson', operatorText(action.approvedBy))
    },
    methodText(action.method),
    { text: action.subject === '' ? NONE : action.subject, remark: action.subjectKind },
    { text: t(OUTCOMES[action.outcome] ?? 'outcome.open'), remark: action.problem },
    brief(action.before),
    brief(action.after),
    action.reason === '' ? NONE : action.reason
  ]
}

/** Longest text of a state that a table shows, in characters. */
const BRIEF_MAX = 160

function brief(json: string): string {
  if (json === '') return NONE
  return json.length <= BRIEF_MAX ? json : `${json.slice(0, BRIEF_MAX - 1)}…`
}

const PROPOSAL_STATES: Readonly<
  Record<number, 'proposal.open' | 'proposal.approved' | 'proposal.rejected' | 'proposal.expired'>
> = {
  [operators.ProposalState.PROPOSAL_STATE_OPEN]: 'proposal.open',
  [operators.ProposalState.PROPOSAL_STATE_APPROVED]: 'proposal.approved',
  [operators.ProposalState.PROPOSAL_STATE_REJECTED]: 'proposal.rejected',
  [operators.ProposalState.PROPOSAL_STATE_EXPIRED]: 'proposal.expired'
}

/** `/proposals`: what awaits a second person, in both services. */
export async function listProposals(visit: Visit): Promise<Reply> {
  const { t, show, operated } = visit
  const pages = await Promise.all(
    SERVICES.map((service) =>
      operated.acts(
        service,
        'listProposals',
        operators.ListProposalsRequest.fromPartial({ pageSize: PAGE_SIZE })
      )
    )
  )
  return {
    title: t('proposals'),
    section: 'proposals',
    blocks: SERVICES.map((service, place) => ({
      kind: 'table' as const,
      title: service,
      empty: t('noProposals'),
      columns: [
        { label: t('created') },
        { label: t('state') },
        { label: t('act') },
        { label: t('subject') },
        { label: t('by') },
        { label: t('expires') }
      ],
      rows: (pages[place]?.proposals ?? []).map((proposal) => [
        show.instant(proposal.createTime),
        {
          text: t(PROPOSAL_STATES[proposal.state] ?? 'proposal.open'),
          ...(proposal.state === operators.ProposalState.PROPOSAL_STATE_OPEN
            ? { tone: 'waiting' as const }
            : {})
        },
        { text: methodText(proposal.method), href: `/proposals/${service}/${proposal.id}` },
        { text: proposal.subject, remark: proposal.subjectKind },
        operatorText(proposal.proposedBy),
        show.instant(proposal.expireTime)
      ])
    }))
  }
}

/** What is told of a proposal. */
export function proposalFacts({ t, show }: Visit, proposal: operators.Proposal): Fact[] {
  return [
    { label: t('state'), value: t(PROPOSAL_STATES[proposal.state] ?? 'proposal.open') },
    { label: t('act'), value: methodText(proposal.method) },
    { label: t('subject'), value: { text: proposal.subject, remark: proposal.subjectKind } },
    { label: t('by'), value: operatorText(proposal.proposedBy) },
    { label: t('reason'), value: proposal.reason === '' ? NONE : proposal.reason },
    { label: t('created'), value: show.instant(proposal.createTime) },
    { label: t('expires'), value: show.instant(proposal.expireTime) },
    { label: t('request'), value: proposal.request },
    { label: t('before'), value: proposal.before === '' ? NONE : proposal.before },
    { label: t('after'), value: proposal.after === '' ? NONE : proposal.after },
    ...(proposal.decideTime === undefined
      ? []
      : [
          { label: t('decidedAt'), value: show.instant(proposal.decideTime) },
          { label: t('decidedBy'), value: operatorText(proposal.decidedBy) },
          { label: t('decision'), value: proposal.decisionReason === '' ? NONE : proposal.decisionReason }
        ])
  ]
}

/** `/proposals/:service/:id` */
export async function showProposal(visit: Visit): Promise<Reply> {
  const { t, operated, request } = visit
  const service = serviceOf(request.param('service'))
  const proposalId = request.param('id')
  const { proposal } = await operated.acts(service, 'getProposal', { proposalId })
  if (proposal === undefined) throw new OperationRefused('not-found', proposalId)
  const isOpen = proposal.state === operators.ProposalState.PROPOSAL_STATE_OPEN
  return {
    title: t('proposal'),
    section: 'proposals',
    blocks: [
      { kind: 'facts', facts: proposalFacts(visit, proposal) },
      {
        kind: 'acts',
        acts:
          isOpen && visit.may('approver')
            ? (['approve-proposal', 'reject-proposal'] as const).map((act) => ({
                label: t(`act.${act}`),
                href: pathTo(`/act/${act}`, { subject: `${service} ${proposalId}` })
              }))
            : []
      }
    ]
  }
}
