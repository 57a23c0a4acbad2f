import { type events, operators, type wallet } from '@open-payments-server/proto'
import { z } from 'zod'
import type { Block, Cell, Fact } from '../../pages/console/blocks.js'
import { presentableName, presentableText, presentableWhole } from '../../words/presentable.js'
import { OperationRefused, SERVICES, type ServiceName } from '../operated.js'
import { findAccount } from './accounts.js'
import { serviceOf } from './endpoints.js'
import { briefCell, changedMembers, membersCell, membersOf } from './members.js'
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
  const called = presentableName(name)
  return machine === '' ? `${sub} at ${issuer}${called === '' ? '' : ` (${called})`}` : machine
}

/** What somebody wrote; a dash for nothing. */
function freeText(text: string): string {
  const shown = presentableWhole(text)
  return shown === '' ? NONE : shown
}

function subjectCell({
  subject,
  subjectKind
}: {
  readonly subject: string
  readonly subjectKind: string
}): Cell {
  return { text: freeText(subject), remark: subjectKind }
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
    subjectCell(action),
    { text: t(OUTCOMES[action.outcome] ?? 'outcome.open'), remark: presentableText(action.problem) },
    ...changedMembers(action).map(briefCell),
    freeText(action.reason)
  ]
}

const PROPOSAL_STATES: Readonly<
  Record<number, 'proposal.open' | 'proposal.approved' | 'proposal.rejected' | 'proposal.expired'>
> = {
  [operators.ProposalState.PROPOSAL_STATE_OPEN]: 'proposal.open',
  [operators.ProposalState.PROPOSAL_STATE_APPROVED]: 'proposal.approved',
  [operators.ProposalState.PROPOSAL_STATE_REJECTED]: 'proposal.rejected',
  [operators.ProposalState.PROPOSAL_STATE_EXPIRED]: 'proposal.expired'
}

/** `/proposals`: what awaits a second person, and what was decided, in both services or in one. */
export async function listProposals(visit: Visit): Promise<Reply> {
  const { t, operated, query } = visit
  const of = query.get('service')
  const services = of === null ? SERVICES : [serviceOf(of)]
  const { PROPOSAL_STATE_OPEN, PROPOSAL_STATE_UNSPECIFIED } = operators.ProposalState
  const isOpenOnly = query.get('state') === 'open'
  const pages = await Promise.all(
    services.map((service) =>
      operated.acts(service, 'listProposals', {
        state: isOpenOnly ? PROPOSAL_STATE_OPEN : PROPOSAL_STATE_UNSPECIFIED,
        pageSize: PAGE_SIZE,
        pageToken: of === null ? '' : (query.get('after') ?? '')
      })
    )
  )
  return {
    title: t('proposals'),
    section: 'proposals',
    blocks: services.map((service, place) => proposalTable(visit, service, pages[place]))
  }
}

function proposalTable(
  { t, show, query }: Visit,
  service: ServiceName,
  page: operators.ListProposalsResponse | undefined
): Block {
  const { nextPageToken = '', proposals = [] } = page ?? {}
  return {
    kind: 'table',
    title: service,
    empty: t('noProposals'),
    next:
      nextPageToken === ''
        ? undefined
        : pathTo('/proposals', { ...Object.fromEntries(query), service, after: nextPageToken }),
    columns: [
      { label: t('created') },
      { label: t('state') },
      { label: t('act') },
      { label: t('subject') },
      { label: t('by') },
      { label: t('expires') }
    ],
    rows: proposals.map((proposal) => [
      show.instant(proposal.createTime),
      {
        text: t(PROPOSAL_STATES[proposal.state] ?? 'proposal.open'),
        ...(proposal.state === operators.ProposalState.PROPOSAL_STATE_OPEN
          ? { tone: 'waiting' as const }
          : {})
      },
      { text: methodText(proposal.method), href: `/proposals/${service}/${proposal.id}` },
      subjectCell(proposal),
      operatorText(proposal.proposedBy),
      show.instant(proposal.expireTime)
    ])
  }
}

/** What is told of a proposal: also the amount that it moves, and limits that it sets, as people read them. */
export async function proposalFacts(visit: Visit, proposal: operators.Proposal): Promise<Fact[]> {
  const { t, show } = visit
  const amounts = await proposedAmounts(visit, proposal)
  const [before, after] = changedMembers(proposal)
  return [
    { label: t('state'), value: t(PROPOSAL_STATES[proposal.state] ?? 'proposal.open') },
    { label: t('act'), value: methodText(proposal.method) },
    { label: t('subject'), value: subjectCell(proposal) },
    ...amounts,
    { label: t('by'), value: operatorText(proposal.proposedBy) },
    { label: t('reason'), value: freeText(proposal.reason) },
    { label: t('created'), value: show.instant(proposal.createTime) },
    { label: t('expires'), value: show.instant(proposal.expireTime) },
    { label: t('request'), value: membersCell(membersOf(proposal.request)) },
    { label: t('before'), value: membersCell(before) },
    { label: t('after'), value: membersCell(after) },
    ...(proposal.decideTime === undefined
      ? []
      : [
          { label: t('decidedAt'), value: show.instant(proposal.decideTime) },
          { label: t('decidedBy'), value: operatorText(proposal.decidedBy) },
          { label: t('decision'), value: freeText(proposal.decisionReason) }
        ])
  ]
}

/** What a proposal moves or sets; nothing for what has no amount, and where its subject is gone. */
async function proposedAmounts(visit: Visit, proposal: operators.Proposal): Promise<Fact[]> {
  try {
    return methodText(proposal.method) === 'UpdatePeer'
      ? await proposedLimits(visit, proposal)
      : await movedAmount(visit, proposal)
  } catch (error) {
    if (error instanceof OperationRefused) return []
    throw error
  }
}

const LIMITS = [
  ['receivableLimitValue', 'mostTheyOwe'],
  ['payableLimitValue', 'mostWeOwe'],
  ['packetLimitValue', 'packetLimit']
] as const

const limitsSet = z.object({
  receivableLimitValue: z.string().optional(),
  payableLimitValue: z.string().optional(),
  packetLimitValue: z.string().optional()
})

/** Limits of a peer that a proposal sets or takes away, with those that they replace. */
async function proposedLimits(
  { t, show, operated }: Visit,
  { subject, request }: operators.Proposal
): Promise<Fact[]> {
  const asked = limitsSet.parse(JSON.parse(request))
  const { peer } = await operated.peers('getPeer', { name: subject })
  if (peer === undefined) return []
  const text = (limit: string): string => (limit === '' ? t('noLimit') : show.money(limit, peer.asset))
  return LIMITS.flatMap(([field, label]) => {
    const limit = asked[field]
    if (limit === undefined) return []
    return [{ label: t(label), value: { text: text(limit), remark: `${t('before')}: ${text(peer[field])}` } }]
  })
}

const moved = z.object({ value: z.string() })
const decided = z.object({ packet: z.object({ value: z.string() }) })

/** What a proposal moves. */
async function movedAmount(visit: Visit, proposal: operators.Proposal): Promise<Fact[]> {
  const { method, subject, request, before } = proposal
  const { t, operated, show } = visit
  const { value } = moved.safeParse(JSON.parse(request)).data ?? { value: '' }
  const assetOfPeer = async () => (await operated.peers('getPeer', { name: subject })).peer?.asset
  const found = async (): Promise<readonly [value: string, wallet.Asset | undefined]> => {
    switch (methodText(method)) {
      case 'Deposit':
      case 'Withdraw':
        return [value, (await findAccount(visit, subject))?.asset]
      case 'CreateRefund':
      case 'ApprovePayment': {
        const shown = await operated.wallets('getOutgoingPayment', { outgoingPayment: subject })
        const { payment, receiveAsset } = shown.payment ?? {}
        return value === '' ? [payment?.value ?? '', payment?.asset] : [value, receiveAsset]
      }
      case 'SettlePeer':
        return [value, await assetOfPeer()]
      case 'DecidePacket':
        return [decided.safeParse(JSON.parse(before)).data?.packet.value ?? '', await assetOfPeer()]
      default:
        return ['', undefined]
    }
  }
  const [of, asset] = await found()
  return of === '' || asset === undefined ? [] : [{ label: t('amount'), value: show.money(of, asset) }]
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
      { kind: 'facts', facts: await proposalFacts(visit, proposal) },
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
