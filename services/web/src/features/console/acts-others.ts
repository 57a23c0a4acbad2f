import { setTimeout as delay } from 'node:timers/promises'
import { events, type operators, wallet } from '@open-payments-server/proto'
import type { Fact } from '../../pages/console/blocks.js'
import { type OperatedCall, OperationRefused } from '../operated.js'
import { type Act, reasonField, reasonOf } from './act.js'
import { endpointFacts, serviceOf } from './endpoints.js'
import { grantFacts, grantState } from './grants.js'
import { proposalFacts } from './oversight.js'
import { NONE, pathTo } from './show.js'
import { readSpan } from './find.js'
import type { Visit } from './visit.js'

/** Ends a grant. */
export const endGrant: Act = {
  role: 'operator',
  async prepare(visit, grantId) {
    const found = await visit.operated.grants('getGrant', { grantId })
    return {
      before: grantFacts(visit, found),
      after: [{ label: visit.t('state'), value: visit.show.state('revoked') }],
      fields: [],
      back: `/grants/${grantId}`
    }
  },
  async perform(visit, grantId) {
    const { grant } = await visit.operated.grants('revokeGrant', { grantId })
    const state = grantState(grant?.state)
    return { now: [{ label: visit.t('state'), value: visit.show.state(state) }], back: `/grants/${grantId}` }
  }
}

/** Revokes a key. The subject is the key's id and the URL of the wallet address. */
export const revokeKey: Act = {
  role: 'operator',
  prepare({ t }, subject) {
    const [kid, url] = keyOf(subject)
    return Promise.resolve({
      before: [
        { label: t('walletAddress'), value: url },
        { label: t('keyId'), value: { text: kid, isCode: true } }
      ],
      after: [{ label: t('keyId'), value: NONE }],
      fields: [],
      back: pathTo('/wallet-address', { url })
    })
  },
  async perform({ t, operated }, subject) {
    const [kid, walletAddress] = keyOf(subject)
    await operated.wallets('revokeClientKey', { walletAddress, kid })
    return {
      now: [{ label: t('keyId'), value: { text: kid, isCode: true, remark: t('revoked') } }],
      back: pathTo('/wallet-address', { url: walletAddress })
    }
  }
}

/** Key ids may have spaces; URLs have none. */
function keyOf(subject: string): readonly [kid: string, url: string] {
  const place = subject.lastIndexOf(' ')
  return [subject.slice(0, place), subject.slice(place + 1)]
}

/** Disables an endpoint, enables it again, or delivers events to it again. The subject is the service and the endpoint's id. */
export function changeEndpoint(change: 'enable' | 'disable' | 'replay'): Act {
  return {
    role: 'operator',
    async prepare(visit, subject) {
      const { t, operated } = visit
      const [service, id] = placeOf(subject)
      const { endpoint } = await operated.webhooks(service, 'getWebhookEndpoint', { id })
      if (endpoint === undefined) throw new OperationRefused('not-found', subject)
      return {
        before: [{ label: t('url'), value: endpoint.url }, ...endpointFacts(visit, endpoint)],
        after:
          change === 'replay'
            ? []
            : [{ label: t('state'), value: t(change === 'enable' ? 'active' : 'disabled') }],
        fields:
          change === 'replay'
            ? [{ kind: 'text', name: 'after', label: t('replayAfter'), value: '', hint: '2026-01-31 17:00' }]
            : [],
        back: `/endpoints/${service}/${id}`
      }
    },
    async perform(visit, subject) {
      const [service, id] = placeOf(subject)
      const now = await changed(visit, change, service, id)
      return { now, back: `/endpoints/${service}/${id}` }
    }
  }
}

async function changed(
  visit: Visit,
  change: 'enable' | 'disable' | 'replay',
  service: ReturnType<typeof serviceOf>,
  id: string
): Promise<Fact[]> {
  const { t, operated, fields } = visit
  if (change === 'replay') {
    const text = (fields.get('after') ?? '').trim()
    const after = readSpan(text)?.from
    if (text !== '' && after === undefined) throw new OperationRefused('invalid', t('badInstant', text))
    const { eventCount } = await operated.webhooks(service, 'replayWebhooks', { id, after })
    return [{ label: t('eventsAgain'), value: eventCount.toString() }]
  }
  const { endpoint } = await (change === 'disable'
    ? operated.webhooks(service, 'disableWebhookEndpoint', { id })
    : operated.webhooks(
        service,
        'updateWebhookEndpoint',
        events.UpdateWebhookEndpointRequest.fromPartial({ id, enable: true })
      ))
  return endpoint === undefined ? [] : endpointFacts(visit, endpoint)
}

function placeOf(subject: string): readonly [service: ReturnType<typeof serviceOf>, id: string] {
  const [service = '', id = ''] = subject.split(' ')
  return [serviceOf(service), id]
}

/** Decides about what awaits a second person. The subject is the service and the proposal's id. */
export function decideProposal(decision: 'approve' | 'reject'): Act {
  return {
    role: 'approver',
    async prepare(visit, subject) {
      const [service, proposalId] = placeOf(subject)
      const { proposal } = await visit.operated.acts(service, 'getProposal', { proposalId })
      return {
        before: await factsOf(visit, proposal),
        after: [
          {
            label: visit.t('state'),
            value: visit.t(decision === 'approve' ? 'proposal.approved' : 'proposal.rejected')
          }
        ],
        fields: [reasonField(visit)],
        back: `/proposals/${service}/${proposalId}`
      }
    },
    async perform(visit, subject) {
      const [service, proposalId] = placeOf(subject)
      const method = decision === 'approve' ? 'approveProposal' : 'rejectProposal'
      const request = { proposalId, reason: reasonOf(visit) }
      const { proposal } = await visit.operated.acts(service, method, request)
      return { now: await factsOf(visit, proposal), back: `/proposals/${service}/${proposalId}` }
    }
  }
}

function factsOf(visit: Visit, proposal: operators.Proposal | undefined): Promise<Fact[]> {
  return proposal === undefined ? Promise.resolve([]) : proposalFacts(visit, proposal)
}

/** How long a page waits for an audit, in milliseconds. It goes on afterwards, and is listed once it is over. */
const AUDIT_AWAITED_MS = 10_000
const AUDIT: OperatedCall = { deadlineMs: 600_000 }

/** Checks every invariant in both services. */
export const runAudit: Act = {
  role: 'viewer',
  prepare() {
    return Promise.resolve({ before: [], after: [], fields: [], back: '/audits' })
  },
  async perform({ t, operated, logger }) {
    const auditing = Promise.all([
      operated.wallets('audit', wallet.AuditRequest.fromPartial({}), AUDIT),
      operated.grants('auditLimits', {}, AUDIT)
    ])
    const waiting = new AbortController()
    const ended = await Promise.race([
      auditing,
      delay(AUDIT_AWAITED_MS, undefined, { signal: waiting.signal })
    ]).finally(() => {
      waiting.abort()
    })
    if (ended === undefined) {
      auditing.catch((error: unknown) => {
        logger.error({ err: error }, 'an audit of the console failed')
      })
      return { now: [], note: t('auditGoesOn'), back: '/audits' }
    }
    const [{ checks }, limits] = ended
    const violations = [...checks.flatMap((check) => check.violations), ...limits.violations]
    return {
      now: [
        {
          label: t('result'),
          value:
            violations.length === 0
              ? { text: t('passed'), tone: 'good' }
              : { text: t('violationCount', String(violations.length)), tone: 'bad' }
        }
      ],
      more: [
        {
          kind: 'table',
          title: t('checks'),
          empty: '',
          columns: [{ label: t('invariant') }, { label: t('rowsChecked'), isNumber: true }],
          rows: checks.map(({ invariant, checkedCount, violations: found }) => [
            { text: invariant, tone: found.length === 0 ? 'good' : 'bad', remark: found.join(' ') },
            checkedCount.toString()
          ])
        }
      ],
      back: '/audits'
    }
  }
}
