import { wallet } from '@open-payments-server/proto'
import type { Fact, Field } from '../../pages/console/blocks.js'
import { OperationRefused } from '../operated.js'
import { accountFacts, findAccount } from './accounts.js'
import { type Act, AMOUNT_FIELD, type AskedAgain, reasonField, reasonOf } from './act.js'
import { peerFacts } from './peers.js'
import type { Visit } from './visit.js'

function amountField({ t }: Visit, asset: wallet.Asset | undefined, value = ''): Field {
  return {
    kind: 'text',
    name: AMOUNT_FIELD,
    label: `${t('amount')} ${asset?.code ?? ''}`,
    value,
    isRequired: true
  }
}

function keyOf({ fields }: Visit): string {
  return fields.get('key') ?? ''
}

/** Deposits into an account, or withdraws from it. */
export function moveMoney(kind: 'deposit' | 'withdraw'): Act {
  const backTo = (name: string): string => `/accounts/${encodeURIComponent(name)}`
  return {
    role: 'operator',
    async prepare(visit, subject) {
      const account = await findAccount(visit, subject)
      if (account === undefined) throw new OperationRefused('not-found', subject)
      return {
        before: [{ label: visit.t('account'), value: subject }, ...accountFacts(visit, account)],
        after: [],
        fields: [amountField(visit, account.asset)],
        hidden: [['key', visit.newKey()]],
        back: backTo(subject)
      }
    },
    assetOf: async (visit, subject) => (await findAccount(visit, subject))?.asset,
    async perform(visit, subject, value) {
      const { operated } = visit
      const order = { accountName: subject, value }
      const { account } = await (kind === 'deposit'
        ? operated.wallets('deposit', { depositId: keyOf(visit), ...order })
        : operated.wallets('withdraw', { withdrawalId: keyOf(visit), ...order }))
      return { now: account === undefined ? [] : accountFacts(visit, account), back: backTo(subject) }
    }
  }
}

function paymentFacts(
  { t, show }: Visit,
  { payment, url, receiveValue, receiveAsset }: wallet.OutgoingPayment
): Fact[] {
  return [
    { label: t('payment'), value: url },
    { label: t('state'), value: show.state(payment?.state ?? '') },
    { label: t('debit'), value: show.money(payment?.value ?? '', payment?.asset) },
    { label: t('receiverGets'), value: show.money(receiveValue, receiveAsset) },
    { label: t('refunded'), value: show.money(payment?.refundedValue ?? '', payment?.refundedAsset) },
    { label: t('walletAddress'), value: payment?.walletAddress ?? '' },
    { label: t('receiver'), value: payment?.receiver ?? '' }
  ]
}

function pathOfPayment(url: string): string {
  return `/payments/${url.split('/').at(-1) ?? ''}`
}

/** Approves a payment that awaits approval, or declines it. */
export function decidePayment(decision: 'approve' | 'decline'): Act {
  return {
    role: 'approver',
    async prepare(visit, outgoingPayment) {
      const { payment } = await visit.operated.wallets('getOutgoingPayment', { outgoingPayment })
      return {
        before: payment === undefined ? [] : paymentFacts(visit, payment),
        after: [
          { label: visit.t('state'), value: visit.show.state(decision === 'approve' ? 'pending' : 'failed') }
        ],
        fields: [reasonField(visit)],
        back: pathOfPayment(outgoingPayment)
      }
    },
    async perform(visit, outgoingPayment) {
      const method = decision === 'approve' ? 'approvePayment' : 'declinePayment'
      const request = { outgoingPayment, reason: reasonOf(visit) }
      const { payment } = await visit.operated.wallets(method, request)
      return {
        now: payment === undefined ? [] : paymentFacts(visit, payment),
        back: pathOfPayment(outgoingPayment)
      }
    }
  }
}

/** Gives back what a payment delivered, or a part of it. */
export const refundPayment: Act = {
  role: 'operator',
  async prepare(visit, outgoingPayment) {
    const { payment: found } = await visit.operated.wallets('getOutgoingPayment', { outgoingPayment })
    return {
      before: found === undefined ? [] : paymentFacts(visit, found),
      after: [],
      fields: [
        amountField(visit, found?.receiveAsset),
        {
          kind: 'choice',
          name: 'fee',
          label: visit.t('returnFee'),
          value: 'no',
          options: [
            ['no', visit.t('no')],
            ['yes', visit.t('yes')]
          ]
        }
      ],
      hidden: [['key', visit.newKey()]],
      back: pathOfPayment(outgoingPayment)
    }
  },
  assetOf: async ({ operated }, outgoingPayment) =>
    (await operated.wallets('getOutgoingPayment', { outgoingPayment })).payment?.receiveAsset,
  async perform(visit, outgoingPayment, value) {
    const { t, show, operated, fields } = visit
    const { refund } = await operated.wallets('createRefund', {
      refundOf: outgoingPayment,
      value,
      idempotencyKey: keyOf(visit),
      returnsFee: fields.get('fee') === 'yes'
    })
    return {
      now: [
        { label: t('state'), value: show.state(refund?.state ?? '') },
        { label: t('taken'), value: show.money(refund?.settledValue ?? '', refund?.asset) },
        { label: t('returned'), value: show.money(refund?.returnedValue ?? '', refund?.returnedAsset) }
      ],
      back: pathOfPayment(outgoingPayment)
    }
  }
}

/** Records that a peer and this provider settled outside. */
export const settlePeer: Act = {
  role: 'operator',
  async prepare(visit, name) {
    const { t } = visit
    const { peer } = await visit.operated.peers('getPeer', { name })
    if (peer === undefined) throw new OperationRefused('not-found', name)
    return {
      before: [{ label: t('peer'), value: name }, ...peerFacts(visit, peer)],
      after: [],
      fields: [
        {
          kind: 'choice',
          name: 'direction',
          label: t('whoPaid'),
          value: 'received',
          options: [
            ['received', t('peer.theyPaid')],
            ['sent', t('peer.wePaid')]
          ]
        },
        amountField(visit, peer.asset),
        { kind: 'text', name: 'reference', label: t('bankReference'), value: '', isRequired: true }
      ],
      hidden: [['key', visit.newKey()]],
      back: `/peers/${encodeURIComponent(name)}`
    }
  },
  assetOf: async ({ operated }, name) => (await operated.peers('getPeer', { name })).peer?.asset,
  async perform(visit, name, value) {
    try {
      const { peer } = await visit.operated.peers('settlePeer', settlementOf(visit, name, value))
      return {
        now: peer === undefined ? [] : peerFacts(visit, peer),
        back: `/peers/${encodeURIComponent(name)}`
      }
    } catch (error) {
      if (!(error instanceof OperationRefused) || error.because !== 'not-possible') throw error
      if (error.field !== 'reference') throw error
      return askWhetherAnother(visit, error)
    }
  }
}

/** Field that says that a settlement is another one, though one has its reference already. */
const ANOTHER_FIELD = 'another'

function settlementOf(visit: Visit, name: string, value: string): wallet.SettlePeerRequest {
  const { fields } = visit
  const { SETTLEMENT_DIRECTION_RECEIVED, SETTLEMENT_DIRECTION_SENT } = wallet.SettlementDirection
  return {
    name,
    direction: fields.get('direction') === 'sent' ? SETTLEMENT_DIRECTION_SENT : SETTLEMENT_DIRECTION_RECEIVED,
    value,
    reference: fields.get('reference') ?? '',
    key: keyOf(visit),
    anotherWithReference: fields.get(ANOTHER_FIELD) === 'yes'
  }
}

function askWhetherAnother({ t }: Visit, { message }: OperationRefused): AskedAgain {
  return {
    refusal: t('refusedText', message),
    fields: [
      {
        kind: 'choice',
        name: ANOTHER_FIELD,
        label: t('isAnotherSettlement'),
        value: 'no',
        options: [
          ['no', t('no')],
          ['yes', t('yes')]
        ]
      }
    ]
  }
}

/** Decides whether a packet to a peer arrived. The subject is the peer's name and the packet's condition. */
export const decidePacket: Act = {
  role: 'operator',
  prepare(visit, subject) {
    const { t } = visit
    const [name = '', condition = ''] = subject.split(' ')
    return Promise.resolve({
      before: [
        { label: t('peer'), value: name },
        { label: t('condition'), value: { text: condition, isCode: true } }
      ],
      after: [],
      fields: [
        {
          kind: 'choice',
          name: 'arrived',
          label: t('didItArrive'),
          value: '',
          options: [
            ['', t('choose')],
            ['yes', t('yes')],
            ['no', t('no')]
          ]
        },
        { kind: 'text', name: 'fulfillment', label: t('itsFulfillment'), value: '' }
      ],
      back: `/peers/${encodeURIComponent(name)}`
    })
  },
  async perform(visit, subject) {
    const { t, operated, fields } = visit
    const [name = '', condition = ''] = subject.split(' ')
    const arrived = fields.get('arrived') ?? ''
    if (arrived === '') throw new OperationRefused('invalid', t('chooseFirst'))
    const fulfillment = (fields.get('fulfillment') ?? '').trim()
    await operated.peers('decidePacket', {
      name,
      condition,
      arrived: arrived === 'yes',
      arrivedValue: '',
      fulfillment: fulfillment === '' ? undefined : fulfillment
    })
    return {
      now: [{ label: t('didItArrive'), value: t(arrived === 'yes' ? 'yes' : 'no') }],
      back: `/peers/${encodeURIComponent(name)}`
    }
  }
}
