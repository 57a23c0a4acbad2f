import { wallet } from '@open-payments-server/proto'
import type { Freeze } from '../../domain/freeze.js'
import type { Reservation } from '../../domain/ports.js'
import type { OperatedAccount } from '../../features/operate-wallets/accounts.js'
import type { OperatedPayment } from '../../features/operate-wallets/payments.js'
import type { OperatedWalletAddress } from '../../features/operate-wallets/wallet-addresses.js'

/** An account on the wire. */
export function toAccountMessage(account: OperatedAccount): wallet.Account {
  return {
    name: account.name,
    asset: account.asset,
    balanceValue: account.balance.toString(),
    heldValue: account.held.toString(),
    availableValue: account.available.toString(),
    createTime: new Date(account.createdAtMs),
    freeze: toFreezeMessage(account.freeze)
  }
}

function toFreezeMessage(freeze: Freeze | undefined): wallet.Freeze | undefined {
  return freeze && { freezeTime: new Date(freeze.sinceMs), frozenBy: freeze.by, reason: freeze.reason }
}

/** A wallet address on the wire. */
export function toWalletAddressMessage(walletAddress: OperatedWalletAddress): wallet.WalletAddress {
  const { url, publicName, accountName, asset, keyIds, freeze } = walletAddress
  return { url, publicName, accountName, asset, keyIds: [...keyIds], freeze: toFreezeMessage(freeze) }
}

/** A payment on the wire. */
export function toPaymentMessage(payment: OperatedPayment): wallet.Payment {
  return {
    paymentId: payment.id,
    kind:
      payment.kind === 'incoming'
        ? wallet.PaymentKind.PAYMENT_KIND_INCOMING
        : wallet.PaymentKind.PAYMENT_KIND_OUTGOING,
    walletAddress: payment.walletAddress,
    state: payment.state,
    failureReason: payment.failure?.reason ?? '',
    failureMeaning: payment.failure?.meaning ?? '',
    value: payment.value?.toString() ?? '',
    movedValue: payment.movedValue.toString(),
    asset: payment.asset,
    receiver: payment.receiver,
    createTime: new Date(payment.createdAtMs),
    updateTime: new Date(payment.updatedAtMs)
  }
}

/** A lost payment on the wire. */
export function toLostPaymentMessage(lost: Reservation): wallet.LostPayment {
  const { debitAmount, receiveAmount } = lost
  return {
    paymentId: lost.paymentId,
    grantId: lost.grantId ?? '',
    client: lost.client ?? '',
    walletAddress: lost.walletAddress ?? '',
    receiver: lost.receiver ?? '',
    state: lost.state,
    debitValue: (lost.settledDebitValue ?? debitAmount?.value)?.toString() ?? '',
    debitAsset: debitAmount?.asset,
    receiveValue: (lost.settledReceiveValue ?? receiveAmount?.value)?.toString() ?? '',
    receiveAsset: receiveAmount?.asset,
    createTime: new Date(lost.createdAtMs)
  }
}
