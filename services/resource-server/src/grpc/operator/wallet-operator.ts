import type { Handlers } from '@open-payments-server/grpc-transport'
import { wallet } from '@open-payments-server/proto'
import { invalidField } from '../../features/operation-refused.js'
import { auditMoney, type AuditMoneyDependencies } from '../../features/audit-money/audit-money.js'
import {
  type GiveUpLostDependencies,
  giveUpLostPayments,
  listLostPayments
} from '../../features/audit-money/lost-payments.js'
import { createAccount, listAccounts } from '../../features/operate-wallets/accounts.js'
import { createAsset, listAssets } from '../../features/operate-wallets/assets.js'
import { addClientKey, revokeClientKey } from '../../features/operate-wallets/client-keys.js'
import type { OperatorDependencies } from '../../features/operate-wallets/dependencies.js'
import { deposit, withdraw } from '../../features/operate-wallets/money.js'
import { listPayments, type OperatedPayment } from '../../features/operate-wallets/payments.js'
import { createWalletAddress, listWalletAddresses } from '../../features/operate-wallets/wallet-addresses.js'
import { answer, required } from './answer.js'
import {
  toAccountMessage,
  toLostPaymentMessage,
  toPaymentMessage,
  toWalletAddressMessage
} from './messages.js'

/** What the operators' calls need. */
export type WalletOperatorDependencies = OperatorDependencies &
  AuditMoneyDependencies &
  GiveUpLostDependencies

type Methods<Name extends keyof wallet.WalletOperatorServiceServer> = Pick<
  wallet.WalletOperatorServiceServer,
  Name
>

/** The operators' calls for wallets, money and payments. */
export function createWalletOperator(
  handlers: Handlers,
  dependencies: WalletOperatorDependencies
): wallet.WalletOperatorServiceServer {
  return {
    ...walletMethods(handlers, dependencies),
    ...keyMethods(handlers, dependencies),
    ...moneyMethods(handlers, dependencies),
    ...auditMethods(handlers, dependencies)
  }
}

/** Assets, accounts and wallet addresses. */
function walletMethods(
  handlers: Handlers,
  dependencies: WalletOperatorDependencies
): Methods<
  | 'createAsset'
  | 'listAssets'
  | 'createAccount'
  | 'listAccounts'
  | 'createWalletAddress'
  | 'listWalletAddresses'
> {
  return {
    createAsset: handlers.unary(
      answer(async ({ asset }) => ({ asset: await createAsset(required(asset, 'asset'), dependencies) }))
    ),
    listAssets: handlers.unary(answer(async () => ({ assets: [...(await listAssets(dependencies))] }))),
    createAccount: handlers.unary(
      answer(async ({ name, asset }) => ({
        account: toAccountMessage(
          await createAccount({ name, asset: required(asset, 'asset') }, dependencies)
        )
      }))
    ),
    listAccounts: handlers.unary(
      answer(async (request) => {
        const { items, nextPageToken } = await listAccounts(request, dependencies)
        return { accounts: items.map(toAccountMessage), nextPageToken }
      })
    ),
    createWalletAddress: handlers.unary(
      answer(async (request) => ({
        walletAddress: toWalletAddressMessage(await createWalletAddress(request, dependencies))
      }))
    ),
    listWalletAddresses: handlers.unary(
      answer(async (request) => {
        const { items, nextPageToken } = await listWalletAddresses(request, dependencies)
        return { walletAddresses: items.map(toWalletAddressMessage), nextPageToken }
      })
    )
  }
}

/** Keys of client wallet addresses. */
function keyMethods(
  handlers: Handlers,
  dependencies: WalletOperatorDependencies
): Methods<'addClientKey' | 'revokeClientKey'> {
  return {
    addClientKey: handlers.unary(
      answer(async (request) => {
        await addClientKey(request, dependencies)
        return {}
      })
    ),
    revokeClientKey: handlers.unary(
      answer(async (request) => {
        await revokeClientKey(request, dependencies)
        return {}
      })
    )
  }
}

/** Money and payments. */
function moneyMethods(
  handlers: Handlers,
  dependencies: WalletOperatorDependencies
): Methods<'deposit' | 'withdraw' | 'listPayments'> {
  return {
    deposit: handlers.unary(
      answer(async ({ depositId, accountName, value }) => ({
        account: toAccountMessage(await deposit({ id: depositId, accountName, value }, dependencies))
      }))
    ),
    withdraw: handlers.unary(
      answer(async ({ withdrawalId, accountName, value }) => ({
        account: toAccountMessage(await withdraw({ id: withdrawalId, accountName, value }, dependencies))
      }))
    ),
    listPayments: handlers.unary(
      answer(async (request) => {
        const { items, nextPageToken } = await listPayments(
          { ...request, kind: readKind(request.kind) },
          dependencies
        )
        return { payments: items.map(toPaymentMessage), nextPageToken }
      })
    )
  }
}

/** The audit, and decisions about lost money. */
function auditMethods(
  handlers: Handlers,
  dependencies: WalletOperatorDependencies
): Methods<'listLostPayments' | 'giveUpLostPayments' | 'audit'> {
  return {
    listLostPayments: handlers.unary(
      answer(async (request) => {
        const { items, nextPageToken } = await listLostPayments(request, dependencies)
        return { payments: items.map(toLostPaymentMessage), nextPageToken }
      })
    ),
    giveUpLostPayments: handlers.unary(
      answer(async ({ paymentIds }) => ({
        paymentIds: [...(await giveUpLostPayments(paymentIds, dependencies))]
      }))
    ),
    audit: handlers.unary(
      answer(async ({ openReservationAgeMaxSeconds }) => {
        const checks = await auditMoney(openReservationAgeMaxSeconds, dependencies)
        return { checks: checks.map((check) => ({ ...check, violations: [...check.violations] })) }
      })
    )
  }
}

function readKind(kind: wallet.PaymentKind): OperatedPayment['kind'] {
  switch (kind) {
    case wallet.PaymentKind.PAYMENT_KIND_INCOMING:
      return 'incoming'
    case wallet.PaymentKind.PAYMENT_KIND_OUTGOING:
      return 'outgoing'
    case wallet.PaymentKind.PAYMENT_KIND_UNSPECIFIED:
    case wallet.PaymentKind.UNRECOGNIZED:
      throw invalidField('kind', 'must be incoming or outgoing')
  }
}
