import type { MethodDefinition } from '@open-payments-server/grpc-transport'
import { wallet } from '@open-payments-server/proto'
import type { Logger } from '@open-payments-server/runtime'
import type { Act, ActAmount, Subject } from '@open-payments-server/service-kit/operators'
import type { Asset } from '@open-payments-server/value-types/amounts'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import type { DecideDependencies, RuleDependencies } from '../../features/approve-payments/dependencies.js'
import { declineIfOverdue } from '../../features/approve-payments/decide.js'
import { findApprovalRule } from '../../features/approve-payments/rules.js'
import { showPayment, type ShowPaymentDependencies } from '../../features/approve-payments/show-payment.js'
import type { GiveUpLostDependencies } from '../../features/audit-money/lost-payments.js'
import type { RestoreReservationsDependencies } from '../../features/audit-money/restore-reservations.js'
import type { PeerDependencies } from '../../features/operate-peers/dependencies.js'
import { checkEndpoint } from '../../features/operate-peers/fields.js'
import { getPeer } from '../../features/operate-peers/peers.js'
import { getAccount, getLockedAccount } from '../../features/operate-wallets/accounts.js'
import type { OperatorDependencies } from '../../features/operate-wallets/dependencies.js'
import { getWalletAddress } from '../../features/operate-wallets/wallet-addresses.js'
import type { RefundDependencies } from '../../features/refund-payments/dependencies.js'
import type { Queries } from '../../modules/database.js'
import { toAccountMessage, toWalletAddressMessage } from './messages.js'
import { toRuleMessage, toShownPaymentMessage } from './payment-approval.js'
import { toPeerMessage } from './peers.js'

/** What operators' acts need, in a transaction or outside of one. */
export interface ActingDependencies
  extends
    OperatorDependencies,
    DecideDependencies,
    RuleDependencies,
    PeerDependencies,
    RefundDependencies,
    GiveUpLostDependencies,
    RestoreReservationsDependencies {
  readonly database: Queries
  readonly logger: Logger
  readonly counters: Pick<PaymentCounters, 'countDecided' | 'countEnded' | 'countGivenUp'>
}

type ActOf<Method> =
  Method extends MethodDefinition<infer Request, infer Response>
    ? Act<Request, Response, ActingDependencies>
    : never
type ActsOf<Definition> = { readonly [Name in keyof Definition]?: ActOf<Definition[Name]> }

const subject = (kind: Subject['kind'], name: string | undefined): Subject => ({ kind, name: name ?? '' })

const ofAccount = {
  subject: ({ accountName }: { readonly accountName: string }) => subject('account', accountName),
  look: async ({ accountName }: { readonly accountName: string }, dependencies: OperatorDependencies) =>
    toAccountMessage(await getAccount(accountName, dependencies)),
  made: ({ account }: { readonly account?: wallet.Account | undefined }) => account
}

/** Money goes in or out of the account, whose totals nothing else changes meanwhile. */
const ofMoney = {
  subject: ofAccount.subject,
  look: async ({ accountName }: { readonly accountName: string }, dependencies: OperatorDependencies) =>
    toAccountMessage(await getLockedAccount(accountName, dependencies)),
  made: ofAccount.made,
  amount: async (
    { accountName, value }: { readonly accountName: string; readonly value: string },
    dependencies: OperatorDependencies
  ): Promise<ActAmount> => amountOf((await getAccount(accountName, dependencies)).asset, value)
}

const ofWalletAddress = {
  subject: ({ walletAddress }: { readonly walletAddress: string }) =>
    subject('wallet-address', walletAddress),
  look: async ({ walletAddress }: { readonly walletAddress: string }, dependencies: OperatorDependencies) =>
    toWalletAddressMessage(await getWalletAddress(walletAddress, dependencies))
}

const ofFreeze = {
  ...ofWalletAddress,
  made: ({ walletAddress }: { readonly walletAddress?: wallet.WalletAddress | undefined }) => walletAddress
}

const ofPayment = {
  subject: ({ outgoingPayment }: { readonly outgoingPayment: string }) => subject('payment', outgoingPayment),
  look: async (
    { outgoingPayment }: { readonly outgoingPayment: string },
    dependencies: ShowPaymentDependencies
  ) => toShownPaymentMessage(await showPayment(outgoingPayment, dependencies), dependencies.urls)
}

const ofDecision = {
  ...ofPayment,
  prepare: ({ outgoingPayment }: { readonly outgoingPayment: string }, dependencies: DecideDependencies) =>
    declineIfOverdue(outgoingPayment, dependencies),
  made: ({ payment }: { readonly payment?: wallet.OutgoingPayment | undefined }) => payment
}

const ofPeer = {
  subject: ({ name }: { readonly name: string }) => subject('peer', name),
  look: async ({ name }: { readonly name: string }, dependencies: PeerDependencies) =>
    toPeerMessage(await getPeer(name, dependencies))
}

const ofChangedPeer = {
  ...ofPeer,
  made: ({ peer }: { readonly peer?: wallet.Peer | undefined }) => peer
}

function amountOf(asset: Asset, value: string): ActAmount {
  return { asset, value: BigInt(value) }
}

/** A limit; the empty text is none. */
function limitOf(asset: Asset, limit: string): ActAmount {
  return limit === '' ? { asset, value: undefined } : amountOf(asset, limit)
}

/** What is recorded of the calls of `WalletOperatorService`. */
export const WALLET_ACTS = {
  createAsset: {
    subject: ({ asset }) => subject('asset', asset && `${asset.code}/${String(asset.scale)}`),
    made: ({ asset }) => asset
  },
  createAccount: { subject: ({ name }) => subject('account', name), made: ({ account }) => account },
  setAccountHolder: ofAccount,
  createWalletAddress: {
    subject: ({ path }, response) => subject('wallet-address', response?.walletAddress?.url ?? path),
    made: ({ walletAddress }) => walletAddress
  },
  freezeAccount: { ...ofAccount, neverWaits: true },
  unfreezeAccount: ofAccount,
  freezeWalletAddress: { ...ofFreeze, neverWaits: true },
  unfreezeWalletAddress: ofFreeze,
  deposit: ofMoney,
  withdraw: ofMoney,
  addClientKey: ofWalletAddress,
  revokeClientKey: { ...ofWalletAddress, neverWaits: true },
  approvePayment: {
    ...ofDecision,
    amount: async ({ outgoingPayment }, dependencies) => {
      const { payment } = await showPayment(outgoingPayment, dependencies)
      return { asset: payment.debitAsset, value: payment.debitValue }
    }
  },
  declinePayment: { ...ofDecision, neverWaits: true },
  createApprovalRule: {
    subject: (_request, response) => subject('approval-rule', response?.rule?.id),
    made: ({ rule }) => rule,
    // It may read all payments, which takes longer than a transaction may.
    inSteps: true
  },
  deleteApprovalRule: {
    subject: ({ ruleId }) => subject('approval-rule', ruleId),
    look: async ({ ruleId }, dependencies) => {
      const rule = await findApprovalRule(ruleId, dependencies)
      return rule && toRuleMessage(rule)
    }
  },
  createRefund: {
    subject: ({ refundOf }) => subject('payment', refundOf),
    look: ({ refundOf }, dependencies) => ofPayment.look({ outgoingPayment: refundOf }, dependencies),
    amount: async ({ refundOf, value }, dependencies) => {
      const { payment } = await showPayment(refundOf, dependencies)
      return amountOf(payment.receiveAsset, value)
    }
  },
  // These ask the auth server between their statements.
  giveUpLostPayments: { subject: () => subject('service', ''), made: (response) => response, inSteps: true },
  restoreReservations: { subject: () => subject('service', ''), made: (response) => response, inSteps: true },
  acceptUncountedPayments: {
    subject: () => subject('service', ''),
    made: (response) => response,
    inSteps: true
  }
} as const satisfies ActsOf<typeof wallet.WalletOperatorServiceService>

/** What is recorded of the calls of `PeerService`. */
export const PEER_ACTS = {
  createPeer: {
    subject: ofPeer.subject,
    made: ({ peer }) => peer,
    prepare: ({ endpoint }, dependencies) => checkEndpoint(endpoint, dependencies),
    secrets: ['outgoingToken', 'incomingToken'],
    holdsSecret: true,
    amount: ({ asset, receivableLimitValue }) =>
      Promise.resolve(asset && limitOf(asset, receivableLimitValue))
  },
  updatePeer: {
    ...ofChangedPeer,
    prepare: async ({ endpoint }, dependencies) => {
      if (endpoint !== undefined) await checkEndpoint(endpoint, dependencies)
    },
    secrets: ['outgoingToken'],
    isHarmless: ({ ilpAddress, routes, endpoint, ...limits }) =>
      [ilpAddress, routes, endpoint].every((field) => field === undefined) &&
      [limits.receivableLimitValue, limits.payableLimitValue, limits.packetLimitValue].every(
        (limit) => limit === undefined
      ),
    amount: async ({ name, receivableLimitValue: limit }, dependencies) =>
      limit === undefined ? undefined : limitOf((await getPeer(name, dependencies)).peer.asset, limit)
  },
  rotatePeerToken: { ...ofChangedPeer, secrets: ['incomingToken'], holdsSecret: true },
  settlePeer: {
    ...ofChangedPeer,
    enumerations: { direction: wallet.SettlementDirection },
    amount: async ({ name, value }, dependencies) =>
      amountOf((await getPeer(name, dependencies)).peer.asset, value)
  },
  decidePacket: ofPeer
} as const satisfies ActsOf<typeof wallet.PeerServiceService>
