import type { Block, ConsoleView } from '../../pages/console/blocks.js'
import { OperationRefused } from '../operated.js'
import type { Act } from './act.js'
import { freezeAccount, freezeClient, freezeWalletAddress } from './acts-freeze.js'
import { decidePacket, decidePayment, moveMoney, refundPayment, settlePeer } from './acts-money.js'
import { changeEndpoint, decideProposal, endGrant, revokeKey, runAudit } from './acts-others.js'
import { pathTo } from './show.js'
import type { Reply, Visit } from './visit.js'

/** Everything that can be done here, by name. */
const ACTS = {
  'freeze-account': freezeAccount(true),
  'unfreeze-account': freezeAccount(false),
  'freeze-wallet-address': freezeWalletAddress(true),
  'unfreeze-wallet-address': freezeWalletAddress(false),
  'freeze-client': freezeClient(true),
  'unfreeze-client': freezeClient(false),
  deposit: moveMoney('deposit'),
  withdraw: moveMoney('withdraw'),
  'approve-payment': decidePayment('approve'),
  'decline-payment': decidePayment('decline'),
  'refund-payment': refundPayment,
  'end-grant': endGrant,
  'revoke-key': revokeKey,
  'settle-peer': settlePeer,
  'decide-packet': decidePacket,
  'enable-endpoint': changeEndpoint('enable'),
  'disable-endpoint': changeEndpoint('disable'),
  'replay-endpoint': changeEndpoint('replay'),
  'approve-proposal': decideProposal('approve'),
  'reject-proposal': decideProposal('reject'),
  'run-audit': runAudit
} as const satisfies Readonly<Record<string, Act>>

type ActName = keyof typeof ACTS

/** `GET /act/:name?subject=`: how things are, how they will be, and a button. */
export async function askAct(visit: Visit): Promise<Reply> {
  const { t, query } = visit
  const name = nameOf(visit)
  const act: Act = ACTS[name]
  if (act.role !== 'viewer' && !visit.may(act.role))
    return {
      status: 403,
      title: t('notAllowed'),
      blocks: [{ kind: 'text', text: t('needsRole', act.role), tone: 'bad' }]
    }
  const subject = query.get('subject') ?? ''
  const { before, after, fields, hidden = [], back } = await act.prepare(visit, subject)
  const blocks: Block[] = [
    ...(before.length === 0 ? [] : [{ kind: 'facts' as const, title: t('before'), facts: before }]),
    ...(after.length === 0 ? [] : [{ kind: 'facts' as const, title: t('after'), facts: after }]),
    { kind: 'text', text: t(`effect.${name}`) },
    {
      kind: 'confirm',
      action: `/act/${name}`,
      hidden: [['token', visit.formToken], ['subject', subject], ...hidden],
      fields,
      button: t(`act.${name}`),
      cancel: { label: t('cancel'), href: back }
    }
  ]
  return { title: t(`act.${name}`), blocks }
}

/** `POST /act/:name`: does it, and says so once the service has answered. Whether they may is the service's to decide. */
export async function performAct(visit: Visit): Promise<ConsoleView> {
  const { t, fields } = visit
  const name = nameOf(visit)
  const act: Act = ACTS[name]
  const { now, note, back } = await act.perform(visit, fields.get('subject') ?? '')
  return {
    title: t(`act.${name}`),
    blocks: [
      { kind: 'text', text: note ?? t('done'), tone: note === undefined ? 'good' : 'waiting' },
      ...(now.length === 0 ? [] : [{ kind: 'facts' as const, title: t('now'), facts: now }]),
      { kind: 'acts', acts: [{ label: t('goBack'), href: back }] }
    ]
  }
}

function nameOf({ request }: Visit): ActName {
  const name = request.param('name')
  if (!Object.hasOwn(ACTS, name)) throw new OperationRefused('not-found', pathTo('/act', { name }))
  return name as ActName // just looked up
}
