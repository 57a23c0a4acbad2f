import type { wallet } from '@open-payments-server/proto'
import type { Block, ConsoleView, Fact, Field } from '../../pages/console/blocks.js'
import { OperationRefused } from '../operated.js'
import { type Act, AMOUNT_FIELD, type AskedAgain, type Prepared } from './act.js'
import { freezeAccount, freezeClient, freezeWalletAddress } from './acts-freeze.js'
import { decidePacket, decidePayment, moveMoney, refundPayment, settlePeer } from './acts-money.js'
import { changeEndpoint, decideProposal, endGrant, revokeKey, runAudit } from './acts-others.js'
import { readMoved } from './find.js'
import { NONE, pathTo } from './show.js'
import { LANGUAGE_FIELD, type Reply, type Visit } from './visit.js'

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

/** Field with the amount that was shown before it is moved, as the contract writes it. */
const SHOWN_FIELD = 'shown'

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
      hidden: [
        ['token', visit.formToken],
        [LANGUAGE_FIELD, visit.speech.language],
        ['subject', subject],
        ...hidden
      ],
      fields,
      button: t(`act.${name}`),
      cancel: { label: t('cancel'), href: back }
    }
  ]
  return { title: t(`act.${name}`), blocks }
}

/**
 * `POST /act/:name`: does it, and says so once the service has answered. Whether they may is the service's to decide. An amount is moved only
 * once it was shown as it was read.
 */
export async function performAct(visit: Visit): Promise<ConsoleView & { readonly status?: number }> {
  const { t, fields } = visit
  const name = nameOf(visit)
  const act: Act = ACTS[name]
  const subject = fields.get('subject') ?? ''
  const moved = act.assetOf && readAmountOf(visit, await act.assetOf(visit, subject))
  if (moved !== undefined && fields.get(SHOWN_FIELD) !== moved.value)
    return showMoved(visit, name, moved, await act.prepare(visit, subject))
  const performed = await act.perform(visit, subject, moved?.value ?? '')
  if ('refusal' in performed) {
    const prepared = await act.prepare(visit, subject)
    return askAgain(visit, name, { ...performed, moved, prepared })
  }
  const { now, more = [], note, back } = performed
  return {
    title: t(`act.${name}`),
    blocks: [
      { kind: 'text', text: note ?? t('done'), tone: note === undefined ? 'good' : 'waiting' },
      ...(now.length === 0 ? [] : [{ kind: 'facts' as const, title: t('now'), facts: now }]),
      ...more,
      { kind: 'acts', acts: [{ label: t('goBack'), href: back }] }
    ]
  }
}

/** An amount as it was read. */
interface Moved {
  /** As the contract writes it. */
  readonly value: string
  readonly text: string
}

function readAmountOf({ t, show, fields, speech }: Visit, asset: wallet.Asset | undefined): Moved {
  const typed = fields.get(AMOUNT_FIELD) ?? ''
  const value = asset && readMoved(typed, asset, speech.messages.decimalSign)
  if (value === undefined) throw new OperationRefused('invalid', t('badAmountToMove', typed))
  return { value, text: show.money(value, asset) }
}

/** Asks whether an amount, as it was read, is what was meant. */
function showMoved(visit: Visit, name: ActName, moved: Moved, prepared: Prepared): ConsoleView {
  const { t, fields, request } = visit
  const sent = [...fields].filter(([each]) => each !== '' && each !== SHOWN_FIELD)
  return {
    title: t(`act.${name}`),
    blocks: [
      { kind: 'text', text: t('notYetMoved'), tone: 'waiting' },
      { kind: 'facts', title: t('before'), facts: prepared.before },
      {
        kind: 'facts',
        title: t('request'),
        facts: prepared.fields.map((field) => sentFact(field, fields, moved))
      },
      { kind: 'text', text: t(`effect.${name}`) },
      {
        kind: 'confirm',
        action: request.path,
        hidden: [...sent, [SHOWN_FIELD, moved.value]],
        fields: [],
        button: `${t(`act.${name}`)}: ${moved.text}`,
        cancel: { label: t('cancel'), href: prepared.back }
      }
    ]
  }
}

/** Says why nothing was done, and asks what was not asked before. What was sent is sent again with it. */
function askAgain(
  visit: Visit,
  name: ActName,
  {
    refusal,
    fields: asked,
    moved,
    prepared
  }: AskedAgain & { readonly moved: Moved | undefined; readonly prepared: Prepared }
): ConsoleView & { readonly status: number } {
  const { t, fields, request } = visit
  const sent = [...fields].filter(([each]) => each !== '' && asked.every((field) => field.name !== each))
  return {
    status: 409,
    title: t(`act.${name}`),
    blocks: [
      { kind: 'text', text: refusal, tone: 'bad' },
      {
        kind: 'facts',
        title: t('request'),
        facts: prepared.fields.map((field) => sentFact(field, fields, moved))
      },
      {
        kind: 'confirm',
        action: request.path,
        hidden: sent,
        fields: asked,
        button: t(`act.${name}`),
        cancel: { label: t('cancel'), href: prepared.back }
      }
    ]
  }
}

/** What was sent in a field. @param moved the amount that was sent, as it was read */
function sentFact(field: Field, fields: URLSearchParams, moved: Moved | undefined): Fact {
  const { name, label } = field
  const typed = fields.get(name) ?? ''
  if (name === AMOUNT_FIELD && moved !== undefined) return { label, value: moved.text }
  const chosen = field.kind === 'choice' ? field.options.find(([value]) => value === typed)?.[1] : typed
  return { label, value: chosen === undefined || chosen === '' ? NONE : chosen }
}

function nameOf({ request }: Visit): ActName {
  const name = request.param('name')
  if (!Object.hasOwn(ACTS, name)) throw new OperationRefused('not-found', pathTo('/act', { name }))
  return name as ActName // just looked up
}
