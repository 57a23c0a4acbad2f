import { wallet } from '@open-payments-server/proto'
import type { Freeze } from '../../domain/freeze.js'
import type { Reservation } from '../../domain/ports.js'
import type { Refund } from '../../domain/refund.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { RefusedReservation } from '../../features/audit-money/restore-reservations.js'
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
    freeze: toFreezeMessage(account.freeze),
    holder: account.holder
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
    refundedValue: payment.refundedValue.toString(),
    refundedAsset: payment.refundedAsset,
    refundOf: payment.refundOf ?? '',
    createTime: new Date(payment.createdAtMs),
    updateTime: new Date(payment.updatedAtMs)
  }
}

/** A refund on the wire. */
export function toRefundMessage(refund: Refund, urls: ResourceUrls): wallet.Refund {
  const urlOf = (id: string | undefined): string => (id === undefined ? '' : urls.of('outgoing-payments', id))
  return {
    refundId: refund.id,
    refundOf: urlOf(refund.refundOf),
    payment: urlOf(refund.paymentId),
    state: refund.state,
    value: refund.value.toString(),
    settledValue: refund.settledValue?.toString() ?? '',
    asset: refund.asset,
    returnedValue: refund.returnedValue?.toString() ?? '',
    returnedFeeValue: refund.returnedFeeValue.toString(),
    returnedAsset: refund.returnedAsset,
    createdBy: refund.createdBy ?? '',
    createTime: new Date(refund.createdAtMs),
    updateTime: new Date(refund.updatedAtMs)
  }
}

/** The names of a caller's certificate, as they are recorded; undefined without one. */
export function namesOf(clientNames: readonly string[]): string | undefined {
  return clientNames.length === 0 ? undefined : clientNames.join(', ')
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

/** A payment whose reservation the auth server did not record, on the wire. */
export function toRefusedReservationMessage(refused: RefusedReservation): wallet.RefusedReservation {
  const { debitAmount, isGrantUnknown: grantUnknown, ...named } = refused
  return { ...named, grantUnknown, debitValue: debitAmount.value.toString(), debitAsset: debitAmount.asset }
}
