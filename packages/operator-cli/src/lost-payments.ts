import type { wallet } from '@open-payments-server/proto'
import { type Amount, parseAmountValue } from '@open-payments-server/value-types/amounts'
import { assetOf } from './messages.js'

/** A payment that the resource server's database lost, as known to the auth server. */
export interface OperatorLostPayment {
  readonly id: string
  readonly grantId: string
  /** The token holder: URL of the client's wallet address, or `jwk:` and its key's thumbprint. */
  readonly client: string
  readonly walletAddress: string
  readonly receiver: string
  /** `open`, or `settled` if it had ended before it was lost. */
  readonly state: string
  /** Amount actually debited if settled, else reserved; likewise for the received amount. */
  readonly debitAmount: Amount
  readonly receiveAmount: Amount
  readonly createdAt: Date | undefined
}

/** Reads a lost payment from the wire. */
export function lostPaymentOf(lost: wallet.LostPayment): OperatorLostPayment {
  const { grantId, client, walletAddress, receiver, state } = lost
  return {
    id: lost.paymentId,
    grantId,
    client,
    walletAddress,
    receiver,
    state,
    debitAmount: { value: parseAmountValue(lost.debitValue), asset: assetOf(lost.debitAsset) },
    receiveAmount: { value: parseAmountValue(lost.receiveValue), asset: assetOf(lost.receiveAsset) },
    createdAt: lost.createTime
  }
}
