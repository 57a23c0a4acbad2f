import {
  type CallObserver,
  createHandlers,
  type GrpcService,
  type Handlers
} from '@open-payments-server/grpc-transport'
import { wallet } from '@open-payments-server/proto'
import type { Clock, Logger } from '@open-payments-server/runtime'
import type { ResourceServerConfig } from '../../config.js'
import { OperationRefused } from '../../domain/operation-refused.js'
import { auditMoney, type AuditMoneyDeps } from '../../features/audit-money/audit-money.js'
import {
  type GiveUpLostDeps,
  giveUpLostPayments,
  listLostPayments
} from '../../features/audit-money/lost-payments.js'
import { createAccount, listAccounts } from '../../features/operate-wallets/accounts.js'
import { createAsset, listAssets } from '../../features/operate-wallets/assets.js'
import { addClientKey, revokeClientKey } from '../../features/operate-wallets/client-keys.js'
import type { OperatorDeps } from '../../features/operate-wallets/deps.js'
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

/** What the operator services need. */
export interface OperatorServiceDeps extends OperatorDeps, AuditMoneyDeps, GiveUpLostDeps {
  readonly clock: Clock
  readonly logger: Logger
  /** Is told of every call; nobody unless given. */
  readonly callObserver?: CallObserver | undefined
  /** Who may operate where clients show certificates, and what audits take for lost. */
  readonly config: Pick<ResourceServerConfig, 'GRPC_OPERATOR_CLIENTS' | 'ORPHAN_AGE_SECONDS'>
}

type Methods<Name extends keyof wallet.WalletOperatorServiceServer> = Pick<
  wallet.WalletOperatorServiceServer,
  Name
>

/** What operators may do with wallets, money and payments, over gRPC. */
export function createGrpcServices(deps: OperatorServiceDeps): GrpcService[] {
  const handlers = createHandlers(deps.logger, deps.callObserver)
  const implementation: wallet.WalletOperatorServiceServer = {
    ...walletMethods(handlers, deps),
    ...keyMethods(handlers, deps),
    ...moneyMethods(handlers, deps),
    ...auditMethods(handlers, deps)
  }
  const clients = { everyMethod: deps.config.GRPC_OPERATOR_CLIENTS ?? [] }
  return [{ definition: wallet.WalletOperatorServiceService, implementation, clients }]
}

/** Assets, accounts and wallet addresses. */
function walletMethods(
  handlers: Handlers,
  deps: OperatorServiceDeps
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
      answer(async ({ asset }) => ({ asset: await createAsset(required(asset, 'asset'), deps) }))
    ),
    listAssets: handlers.unary(answer(async () => ({ assets: [...(await listAssets(deps))] }))),
    createAccount: handlers.unary(
      answer(async ({ name, asset }) => ({
        account: toAccountMessage(await createAccount({ name, asset: required(asset, 'asset') }, deps))
      }))
    ),
    listAccounts: handlers.unary(
      answer(async (request) => {
        const { items, nextPageToken } = await listAccounts(request, deps)
        return { accounts: items.map(toAccountMessage), nextPageToken }
      })
    ),
    createWalletAddress: handlers.unary(
      answer(async (request) => ({
        walletAddress: toWalletAddressMessage(await createWalletAddress(request, deps))
      }))
    ),
    listWalletAddresses: handlers.unary(
      answer(async (request) => {
        const { items, nextPageToken } = await listWalletAddresses(request, deps)
        return { walletAddresses: items.map(toWalletAddressMessage), nextPageToken }
      })
    )
  }
}

/** Keys of client wallet addresses. */
function keyMethods(
  handlers: Handlers,
  deps: OperatorServiceDeps
): Methods<'addClientKey' | 'revokeClientKey'> {
  return {
    addClientKey: handlers.unary(
      answer(async (request) => {
        await addClientKey(request, deps)
        return {}
      })
    ),
    revokeClientKey: handlers.unary(
      answer(async (request) => {
        await revokeClientKey(request, deps)
        return {}
      })
    )
  }
}

/** Money and payments. */
function moneyMethods(
  handlers: Handlers,
  deps: OperatorServiceDeps
): Methods<'deposit' | 'withdraw' | 'listPayments'> {
  return {
    deposit: handlers.unary(
      answer(async ({ depositId, accountName, value }) => ({
        account: toAccountMessage(await deposit({ id: depositId, accountName, value }, deps))
      }))
    ),
    withdraw: handlers.unary(
      answer(async ({ withdrawalId, accountName, value }) => ({
        account: toAccountMessage(await withdraw({ id: withdrawalId, accountName, value }, deps))
      }))
    ),
    listPayments: handlers.unary(
      answer(async (request) => {
        const { items, nextPageToken } = await listPayments(
          { ...request, kind: readKind(request.kind) },
          deps
        )
        return { payments: items.map(toPaymentMessage), nextPageToken }
      })
    )
  }
}

/** The proof that money adds up, and what is to be decided where some was lost. */
function auditMethods(
  handlers: Handlers,
  deps: OperatorServiceDeps
): Methods<'listLostPayments' | 'giveUpLostPayments' | 'audit'> {
  return {
    listLostPayments: handlers.unary(
      answer(async (request) => {
        const { items, nextPageToken } = await listLostPayments(request, deps)
        return { payments: items.map(toLostPaymentMessage), nextPageToken }
      })
    ),
    giveUpLostPayments: handlers.unary(
      answer(async ({ paymentIds }) => ({ paymentIds: [...(await giveUpLostPayments(paymentIds, deps))] }))
    ),
    audit: handlers.unary(
      answer(async ({ openReservationAgeMaxSeconds }) => {
        const checks = await auditMoney(openReservationAgeMaxSeconds, deps)
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
      throw new OperationRefused('invalid', 'kind', 'kind must be incoming or outgoing')
  }
}
