import type { MethodDefinition } from '@open-payments-server/grpc-transport'
import type { wallet } from '@open-payments-server/proto'
import type { Logger } from '@open-payments-server/runtime'
import type { Act, ActAmount, Acting, PersonName, Subject } from '@open-payments-server/service-kit/operators'
import type { Amount, Asset } from '@open-payments-server/value-types/amounts'
import type { Holder } from '../../domain/holder.js'
import type { PaymentCounters } from '../../domain/payment-counters.js'
import { PATHLESS_WALLET_ADDRESS } from '../../domain/wallet-address.js'
import type { DecideDependencies, RuleDependencies } from '../../features/approve-payments/dependencies.js'
import { declineIfOverdue } from '../../features/approve-payments/decide.js'
import { findApprovalRule } from '../../features/approve-payments/rules.js'
import {
  findPayee,
  findPayer,
  findPayerOfId,
  showPayment,
  type ShowPaymentDependencies
} from '../../features/approve-payments/show-payment.js'
import { readAcceptedIds } from '../../features/audit-money/accept-payments.js'
import type { GiveUpLostDependencies } from '../../features/audit-money/lost-payments.js'
import type { RestoreReservationsDependencies } from '../../features/audit-money/restore-reservations.js'
import type { PeerDependencies } from '../../features/operate-peers/dependencies.js'
import { getAccount, getLockedAccount } from '../../features/operate-wallets/accounts.js'
import type { OperatorDependencies } from '../../features/operate-wallets/dependencies.js'
import { findHoldersAmong } from '../../features/operate-wallets/holder.js'
import { getWalletAddress, listWalletAddresses } from '../../features/operate-wallets/wallet-addresses.js'
import type { RefundDependencies } from '../../features/refund-payments/dependencies.js'
import type { Queries } from '../../modules/database.js'
import { toAccountMessage, toWalletAddressMessage } from './messages.js'
import { toRuleMessage, toShownPaymentMessage } from './payment-approval.js'

/** What operators' acts need, in a transaction or outside of one. */
export interface ActingDependencies
  extends
    Acting,
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
/** What is recorded of the calls of a service, by the keys of its generated definition. */
export type ActsOf<Definition> = { readonly [Name in keyof Definition]?: ActOf<Definition[Name]> }

/** What an act concerns. */
export const subject = (kind: Subject['kind'], name: string | undefined): Subject => ({
  kind,
  name: name ?? ''
})

const ofAccount = {
  subject: ({ accountName }: { readonly accountName: string }) => subject('account', accountName),
  look: async ({ accountName }: { readonly accountName: string }, dependencies: OperatorDependencies) =>
    toAccountMessage(await getAccount(accountName, dependencies)),
  made: ({ account }: { readonly account?: wallet.Account | undefined }) => account
}

/** Whom an operator named as the holder of an account, if anybody. */
async function holdersOf(
  accountName: string,
  dependencies: OperatorDependencies
): Promise<readonly Holder[]> {
  const { holder } = await getAccount(accountName, dependencies)
  return holder === undefined ? [] : [holder]
}

/** What an account holds, with what is on hold for pending payments. */
async function balanceOf(accountName: string, dependencies: OperatorDependencies): Promise<Amount> {
  const { asset, balance } = await getAccount(accountName, dependencies)
  return { asset, value: balance }
}

/** Those who hold the account. */
const ownAccount = {
  field: 'account_name',
  people: ({ accountName }: { readonly accountName: string }, dependencies: OperatorDependencies) =>
    holdersOf(accountName, dependencies)
}

/** Those who hold the account behind the wallet address. */
const ownWalletAddress = {
  field: 'wallet_address',
  people: async ({ walletAddress }: { readonly walletAddress: string }, dependencies: OperatorDependencies) =>
    holdersOf((await getWalletAddress(walletAddress, dependencies)).accountName, dependencies)
}

/** Those who hold the account that a payment is from. */
export const ownPayment = async (outgoingPayment: string, dependencies: ShowPaymentDependencies) => {
  const holder = await findPayer(outgoingPayment, dependencies)
  return holder === undefined ? [] : [holder]
}

/** Those who hold accounts whose payments a rule is about: of those who ask whoever holds any, where it is about all. */
const ownRule = async (
  walletAddress: string | undefined,
  dependencies: OperatorDependencies,
  asking: readonly PersonName[]
) => {
  if (walletAddress === undefined || walletAddress === '') return findHoldersAmong(asking, dependencies)
  return holdersOf((await getWalletAddress(walletAddress, dependencies)).accountName, dependencies)
}

/** Money goes in or out of the account, whose totals nothing else changes meanwhile. */
const ofMoney = {
  subject: ofAccount.subject,
  ownMatter: ownAccount,
  look: async ({ accountName }: { readonly accountName: string }, dependencies: OperatorDependencies) =>
    toAccountMessage(await getLockedAccount(accountName, dependencies)),
  made: ofAccount.made,
  amount: async (
    { accountName, value }: { readonly accountName: string; readonly value: string },
    dependencies: OperatorDependencies
  ): Promise<ActAmount> => amountOf((await getAccount(accountName, dependencies)).asset, value)
}

const ofWalletAddress = {
  subject: (
    { walletAddress }: { readonly walletAddress: string },
    _response: unknown,
    { urls }: Pick<OperatorDependencies, 'urls'>
  ) => {
    const path = urls.walletAddressPathOf(walletAddress)
    return subject('wallet-address', path === undefined ? walletAddress : urls.ofWalletAddress(path))
  },
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

/** @param value a decimal string in units of the asset's scale */
export function amountOf(asset: Asset, value: string): ActAmount {
  return { asset, value: BigInt(value) }
}

/**
 * What is recorded of the calls of `WalletOperatorService`. Nobody's own matter is what names no account (assets, all that the auth server is
 * told anew, payments that are lost here), or one that nobody holds yet (`createAccount`), and what only protects: freezing, revoking,
 * declining.
 */
export const WALLET_ACTS = {
  createAsset: {
    subject: ({ asset }) => subject('asset', asset && `${asset.code}/${String(asset.scale)}`),
    made: ({ asset }) => asset
  },
  createAccount: { subject: ({ name }) => subject('account', name), made: ({ account }) => account },
  setAccountHolder: {
    ...ofAccount,
    replaces: () => ['holder'],
    ownMatter: {
      ...ownAccount,
      // Neither gives their own account away, so as to decide about it, nor takes another.
      people: async ({ accountName, holder }, dependencies) => [
        ...(await holdersOf(accountName, dependencies)),
        ...(holder === undefined ? [] : [holder])
      ]
    },
    amount: async ({ accountName }, dependencies, before) => {
      const balance = await balanceOf(accountName, dependencies)
      const gainsNothing = before?.holder === undefined && balance.value === 0n
      return gainsNothing ? undefined : balance
    }
  },
  createWalletAddress: {
    // A freeze and a rule may be about the wallet addresses that there are.
    ownMatter: ownAccount,
    subject: ({ path }, _response, { urls }) =>
      subject(
        'wallet-address',
        path.startsWith('/') ? urls.ofWalletAddress(path === '/' ? PATHLESS_WALLET_ADDRESS : path) : path
      ),
    made: ({ walletAddress }) => walletAddress,
    amount: async ({ accountName }, dependencies) => {
      const ofAccountSoFar = { accountName, walletAddress: '', after: '', limit: 2 }
      const isFurther = (await listWalletAddresses(ofAccountSoFar, dependencies)).length > 1
      return isFurther ? balanceOf(accountName, dependencies) : undefined
    }
  },
  freezeAccount: { ...ofAccount, neverWaits: true },
  unfreezeAccount: {
    ...ofAccount,
    ownMatter: ownAccount,
    replaces: () => ['freeze'],
    amount: ({ accountName }, dependencies) => balanceOf(accountName, dependencies)
  },
  freezeWalletAddress: { ...ofFreeze, neverWaits: true },
  unfreezeWalletAddress: {
    ...ofFreeze,
    ownMatter: ownWalletAddress,
    replaces: () => ['freeze'],
    amount: async ({ walletAddress }, dependencies) =>
      balanceOf((await getWalletAddress(walletAddress, dependencies)).accountName, dependencies)
  },
  deposit: ofMoney,
  withdraw: ofMoney,
  // It may be one that somebody revoked.
  addClientKey: { ...ofWalletAddress, ownMatter: ownWalletAddress },
  revokeClientKey: { ...ofWalletAddress, neverWaits: true },
  approvePayment: {
    ...ofDecision,
    ownMatter: {
      field: 'outgoing_payment',
      people: async ({ outgoingPayment }, dependencies) => {
        const payee = await findPayee(outgoingPayment, dependencies)
        return [...(await ownPayment(outgoingPayment, dependencies)), ...(payee === undefined ? [] : [payee])]
      }
    },
    amount: async ({ outgoingPayment }, dependencies) => {
      const { payment } = await showPayment(outgoingPayment, dependencies)
      return { asset: payment.debitAsset, value: payment.debitValue }
    }
  },
  declinePayment: { ...ofDecision, neverWaits: true },
  createApprovalRule: {
    subject: (_request, response) => subject('approval-rule', response?.rule?.id),
    ownMatter: {
      field: 'wallet_address',
      people: ({ walletAddress }, dependencies, asking) => ownRule(walletAddress, dependencies, asking)
    },
    made: ({ rule }) => rule,
    // It may read all payments, which takes longer than a transaction may.
    inSteps: true
  },
  deleteApprovalRule: {
    subject: ({ ruleId }) => subject('approval-rule', ruleId),
    ownMatter: {
      field: 'rule_id',
      people: async ({ ruleId }, dependencies, asking) => {
        const rule = await findApprovalRule(ruleId, dependencies)
        return rule === undefined ? [] : ownRule(rule.walletAddress, dependencies, asking)
      }
    },
    look: async ({ ruleId }, dependencies) => {
      const rule = await findApprovalRule(ruleId, dependencies)
      return rule && toRuleMessage(rule)
    },
    // Whatever the rule held back is paid from now on.
    amount: () => Promise.resolve('any')
  },
  createRefund: {
    subject: ({ refundOf }) => subject('payment', refundOf),
    ownMatter: {
      field: 'refund_of',
      people: ({ refundOf }, dependencies) => ownPayment(refundOf, dependencies)
    },
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
    ownMatter: {
      field: 'payment_ids',
      people: async ({ paymentIds }, dependencies) => {
        const holders: Holder[] = []
        for (const id of readAcceptedIds(paymentIds)) {
          const payer = await findPayerOfId(id, dependencies)
          if (payer !== undefined) holders.push(payer)
        }
        return holders
      }
    },
    made: (response) => response,
    inSteps: true
  }
} as const satisfies ActsOf<typeof wallet.WalletOperatorServiceService>
