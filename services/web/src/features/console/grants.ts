import { auth, wallet } from '@open-payments-server/proto'
import type { Block, Fact } from '../../pages/console/blocks.js'
import type { ConsoleWord } from '../../words/console/words.js'
import { OperationRefused } from '../operated.js'
import { PAGE_SIZE, paymentTable } from './payments.js'
import { deliveryTable, eventTable, readEvents } from './tables.js'
import { nameOf, NONE, pathTo } from './show.js'
import type { Reply, Visit } from './visit.js'

const {
  GRANT_STATE_PENDING,
  GRANT_STATE_APPROVED,
  GRANT_STATE_ISSUED,
  GRANT_STATE_REJECTED,
  GRANT_STATE_REVOKED
} = auth.GrantState
const GRANT_STATES = [
  ...[GRANT_STATE_PENDING, GRANT_STATE_APPROVED, GRANT_STATE_ISSUED],
  ...[GRANT_STATE_REJECTED, GRANT_STATE_REVOKED]
]

const STATES = {
  [GRANT_STATE_PENDING]: 'pending',
  [GRANT_STATE_APPROVED]: 'approved',
  [GRANT_STATE_ISSUED]: 'issued',
  [GRANT_STATE_REJECTED]: 'rejected',
  [GRANT_STATE_REVOKED]: 'revoked'
} as const

type StateName = (typeof STATES)[keyof typeof STATES]

/** The state with a name; unspecified for another text. */
function stateOf(name: string): auth.GrantState {
  return GRANT_STATES.find((state) => grantState(state) === name) ?? auth.GrantState.GRANT_STATE_UNSPECIFIED
}

/** The name of a state of a grant. */
export function grantState(state: auth.GrantState | undefined): string {
  return state === undefined ? 'pending' : ((STATES as Readonly<Record<number, string>>)[state] ?? 'pending')
}

/** What an access item allows, in a line. */
function allows({ show, t }: Visit, { type, actions, limits }: auth.AccessItem): string {
  const parts = [
    `${type}: ${actions.join(', ')}`,
    ...(limits?.debitAmount === undefined ? [] : [t('upTo', show.amount(limits.debitAmount))]),
    ...(limits?.receiveAmount === undefined ? [] : [t('receiverUpTo', show.amount(limits.receiveAmount))]),
    ...(limits === undefined || limits.interval === '' ? [] : [limits.interval])
  ]
  return parts.join('; ')
}

/** `/grants`: grants, newest first. */
export async function listGrants(visit: Visit): Promise<Reply> {
  const { t, operated, query } = visit
  const valueOf = (name: string): string => (query.get(name) ?? '').trim()
  const page = await operated.grants('listGrants', {
    identifier: valueOf('wallet'),
    clientWalletAddress: valueOf('client'),
    state: stateOf(valueOf('state')),
    pageSize: PAGE_SIZE,
    pageToken: query.get('after') ?? ''
  })
  const next =
    page.nextPageToken === ''
      ? undefined
      : pathTo('/grants', { ...Object.fromEntries(query), after: page.nextPageToken })
  return {
    title: t('grants'),
    section: 'grants',
    blocks: [
      {
        kind: 'filter',
        label: t('filter'),
        action: '/grants',
        button: t('show'),
        fields: [
          {
            kind: 'choice',
            name: 'state',
            label: t('state'),
            value: valueOf('state'),
            options: [
              ['', t('all')],
              ...Object.values(STATES).map((each) => [each, stateWord(visit, each)] as const)
            ]
          },
          {
            kind: 'text',
            name: 'wallet',
            label: t('walletAddress'),
            value: valueOf('wallet'),
            hint: 'https://…'
          },
          { kind: 'text', name: 'client', label: t('client'), value: valueOf('client'), hint: 'https://…' }
        ]
      },
      grantTable(visit, page.grants, next)
    ]
  }
}

function stateWord({ t }: Visit, state: StateName): string {
  return t(`state.${state}`)
}

function grantTable(visit: Visit, grants: readonly auth.Grant[], next?: string): Block {
  const { t, show } = visit
  return {
    kind: 'table',
    title: t('grants'),
    isTitleHidden: true,
    empty: t('noGrants'),
    next,
    columns: [
      { label: t('created') },
      { label: t('state') },
      { label: t('client') },
      { label: t('walletAddress') },
      { label: t('allows') },
      { label: t('grant') }
    ],
    rows: grants.map((grant) => [
      show.instant(grant.createTime),
      show.state(grantState(grant.state)),
      show.client(nameOf(grant.client)),
      show.walletAddress(grant.access.find(({ identifier }) => identifier !== '')?.identifier ?? ''),
      grant.access.map((item) => allows(visit, item)).join(' · '),
      show.grant(grant.grantId)
    ])
  }
}

/** What is told of a grant. */
export function grantFacts({ t, show }: Visit, found: auth.GetGrantResponse): Fact[] {
  const { grant, consentedBy, pauseTime, endTime, paymentEndTime } = found
  return [
    { label: t('state'), value: show.state(grantState(grant?.state)) },
    ...(pauseTime === undefined
      ? []
      : [{ label: t('pausedSince'), value: { ...show.instant(pauseTime), tone: 'waiting' as const } }]),
    {
      label: t('client'),
      value: { ...show.client(nameOf(grant?.client)), remark: show.text(found.clientName) }
    },
    { label: t('walletAddress'), value: show.walletAddress(found.walletAddress) },
    {
      label: t('consentedBy'),
      value:
        consentedBy === undefined ? t('notProved') : { text: consentedBy.sub, remark: consentedBy.issuer }
    },
    { label: t('lastUsed'), value: show.instant(found.lastUseTime) },
    { label: t('paysUntil'), value: show.instant(paymentEndTime) },
    { label: t('ends'), value: show.instant(endTime) },
    { label: t('created'), value: show.instant(grant?.createTime) },
    { label: t('changed'), value: show.instant(grant?.updateTime) },
    { label: t('id'), value: { text: grant?.grantId ?? '', isCode: true } }
  ]
}

const ACTS: Readonly<Record<number, ConsoleWord>> = {
  [auth.GrantActKind.GRANT_ACT_KIND_PAUSED]: 'holder.paused',
  [auth.GrantActKind.GRANT_ACT_KIND_RESUMED]: 'holder.resumed',
  [auth.GrantActKind.GRANT_ACT_KIND_LOWERED]: 'holder.lowered',
  [auth.GrantActKind.GRANT_ACT_KIND_STOPPED]: 'holder.stopped'
}

/** `/grants/:id`: a grant, what was spent under it, its payments and its history. */
export async function showGrant(visit: Visit): Promise<Reply> {
  const { t, show, operated, request } = visit
  const grantId = request.param('id').toLowerCase()
  const [found, told] = await Promise.all([
    operated.grants('getGrant', { grantId }),
    readEvents(operated, 'auth-server', grantId)
  ])
  const payments = await paymentsUnder(visit, found)
  const isOver = ['rejected', 'revoked'].includes(grantState(found.grant?.state))
  return {
    title: t('grant'),
    section: 'grants',
    blocks: [
      { kind: 'facts', facts: grantFacts(visit, found) },
      {
        kind: 'acts',
        acts:
          visit.may('operator') && !isOver
            ? [{ label: t('act.end-grant'), href: pathTo('/act/end-grant', { subject: grantId }) }]
            : []
      },
      spentTable(visit, found),
      ...payments,
      {
        kind: 'table',
        title: t('holderActs'),
        empty: t('noHolderActs'),
        columns: [{ label: t('at') }, { label: t('act') }, { label: t('by') }],
        rows: found.acts.map(({ actTime, kind, holder }) => [
          show.instant(actTime),
          t(ACTS[kind] ?? 'holder.paused'),
          { text: holder?.sub ?? NONE, remark: holder?.issuer ?? '' }
        ])
      },
      eventTable(visit, told),
      deliveryTable(visit, told)
    ]
  }
}

function spentTable(visit: Visit, { access }: auth.GetGrantResponse): Block {
  const { t, show } = visit
  return {
    kind: 'table',
    title: t('spent'),
    empty: t('noAccess'),
    columns: [
      { label: t('allows') },
      { label: t('walletAddress') },
      { label: t('spentDebit'), isNumber: true },
      { label: t('spentReceive'), isNumber: true },
      { label: t('intervalFrom') },
      { label: t('intervalUntil') }
    ],
    rows: access.map((item) => [
      item.access === undefined ? NONE : allows(visit, item.access),
      show.walletAddress(item.access?.identifier ?? ''),
      show.amount(item.spentDebitAmount),
      show.amount(item.spentReceiveAmount),
      show.instant(item.intervalStartTime),
      show.instant(item.intervalEndTime)
    ])
  }
}

/** The newest payments under a grant from its wallet address. */
async function paymentsUnder(visit: Visit, { grant, access }: auth.GetGrantResponse): Promise<Block[]> {
  const { t, operated } = visit
  const paying = access.find(({ access: item }) => item?.type === 'outgoing-payment')?.access?.identifier
  if (grant === undefined || paying === undefined || paying === '') return []
  const request = wallet.ListPaymentsRequest.fromPartial({
    kind: wallet.PaymentKind.PAYMENT_KIND_OUTGOING,
    walletAddress: paying,
    grantId: grant.grantId,
    pageSize: PAGE_SIZE
  })
  try {
    const { payments, nextPageToken } = await operated.wallets('listPayments', request)
    const query = { wallet: paying, grant: grant.grantId, after: nextPageToken }
    const next = nextPageToken === '' ? undefined : pathTo('/payments', query)
    return [paymentTable(visit, payments, 'outgoing', { title: t('payments'), next })]
  } catch (error) {
    // The wallet address may be hosted elsewhere by now.
    if (error instanceof OperationRefused && error.because === 'not-found') return []
    throw error
  }
}

/** `/clients`: those that are frozen; the others have grants, by which they are found. */
export async function listClients(visit: Visit): Promise<Reply> {
  const { t, show, operated, query } = visit
  const page = await operated.grants('listFrozenClients', {
    client: '',
    pageSize: PAGE_SIZE,
    pageToken: query.get('after') ?? ''
  })
  return {
    title: t('clients'),
    section: 'clients',
    blocks: [
      {
        kind: 'filter',
        label: t('findClient'),
        action: '/client',
        button: t('show'),
        fields: [
          { kind: 'text', name: 'name', label: t('client'), value: '', hint: 'https://…', isRequired: true }
        ]
      },
      {
        kind: 'table',
        title: t('frozenClients'),
        empty: t('noFrozenClients'),
        next: page.nextPageToken === '' ? undefined : pathTo('/clients', { after: page.nextPageToken }),
        columns: [
          { label: t('client') },
          { label: t('frozenSince') },
          { label: t('by') },
          { label: t('reason') }
        ],
        rows: page.clients.map(({ client, freezeTime, frozenBy, reason }) => [
          show.client(nameOf(client)),
          show.instant(freezeTime),
          frozenBy === '' ? NONE : frozenBy,
          reason === '' ? NONE : reason
        ])
      }
    ]
  }
}

/** `/client?name=`: a client's grants, and whether it is frozen. */
export async function showClient(visit: Visit): Promise<Reply> {
  const { t, operated, query } = visit
  const name = (query.get('name') ?? '').trim()
  const isUrl = !name.startsWith('jwk:')
  const [{ clients }, grants] = await Promise.all([
    operated.grants('listFrozenClients', { client: name, pageSize: 1, pageToken: '' }),
    isUrl
      ? operated.grants(
          'listGrants',
          auth.ListGrantsRequest.fromPartial({
            clientWalletAddress: name,
            pageSize: PAGE_SIZE,
            pageToken: query.get('after') ?? ''
          })
        )
      : { grants: [], nextPageToken: '' }
  ])
  const [frozen] = clients
  const next =
    grants.nextPageToken === '' ? undefined : pathTo('/client', { name, after: grants.nextPageToken })
  return {
    title: name,
    section: 'clients',
    blocks: [
      { kind: 'facts', facts: clientFacts(visit, frozen) },
      {
        kind: 'acts',
        acts: [
          ...(visit.may('operator')
            ? [frozen === undefined ? ('freeze-client' as const) : ('unfreeze-client' as const)].map(
                (act) => ({
                  label: t(`act.${act}`),
                  href: pathTo(`/act/${act}`, { subject: name })
                })
              )
            : []),
          { label: t('itsPayments'), href: pathTo('/payments', { client: name }) }
        ]
      },
      grantTable(visit, grants.grants, next)
    ]
  }
}

/** Whether a client is frozen, since when and why. */
export function clientFacts({ t, show }: Visit, frozen: auth.OperatedClient | undefined): Fact[] {
  if (frozen?.frozen !== true) return [{ label: t('state'), value: t('active') }]
  return [
    { label: t('state'), value: { text: t('frozen'), tone: 'bad' } },
    { label: t('frozenSince'), value: show.instant(frozen.freezeTime) },
    { label: t('by'), value: frozen.frozenBy === '' ? NONE : frozen.frozenBy },
    { label: t('reason'), value: frozen.reason === '' ? NONE : frozen.reason }
  ]
}
