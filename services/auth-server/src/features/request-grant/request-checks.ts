import { invalidField } from '@open-payments-server/http-server'
import { type Asset, isSameAsset } from '@open-payments-server/amounts'
import type { AccessItem } from '../../domain/access.js'
import {
  type ClientDirectory,
  DocumentUnavailable,
  type WalletAddressDocument
} from '../../domain/clients.js'
import { isLoopback, isSameEndpoint } from '../../domain/urls.js'

const CODE = 'invalid_request'

/**
 * Checks that every outgoing payment is asked from a wallet address whose grants are decided here, and that its limits
 * are in the assets they are about.
 *
 * @param grantEndpoint the public URL of this service
 * @throws PublicError 400 `invalid_request` naming the field
 */
export async function checkOutgoingPayments(
  access: readonly AccessItem[],
  grantEndpoint: string,
  directory: Pick<ClientDirectory, 'getWalletAddress' | 'getReceiverAsset'>
): Promise<void> {
  await Promise.all(
    access.map(async (item, index) => {
      if (item.type !== 'outgoing-payment' || item.identifier === undefined) return
      const path = `access_token.access[${String(index)}]`
      const walletAddress = await findWalletAddress(item.identifier, `${path}.identifier`, directory)
      if (!isSameEndpoint(walletAddress.authServer, grantEndpoint)) {
        throw invalidField(CODE, `${path}.identifier`, 'the wallet address has another authorization server')
      }
      checkDebitAsset(item, walletAddress, `${path}.limits.debitAmount`)
      await checkReceiveAsset(item, `${path}.limits.receiveAmount`, directory)
    })
  )
}

/**
 * Checks where the browser is sent when the interaction is over: an https URL; http only on the browser's own machine, or
 * in development (RFC 9635 §2.5.2).
 *
 * @throws PublicError 400 `invalid_request` naming the field
 */
export function checkFinishUri(uri: string, allowHttp: boolean): void {
  const url = new URL(uri)
  if (url.protocol !== 'https:' && !allowHttp && !isLoopback(url)) {
    throw invalidField(CODE, 'interact.finish.uri', 'expected an https URL')
  }
}

async function findWalletAddress(
  identifier: string,
  field: string,
  directory: Pick<ClientDirectory, 'getWalletAddress'>
): Promise<WalletAddressDocument> {
  try {
    return await directory.getWalletAddress(identifier)
  } catch (error) {
    if (error instanceof DocumentUnavailable) throw invalidField(CODE, field, 'unknown wallet address')
    throw error
  }
}

function checkDebitAsset(item: AccessItem, walletAddress: WalletAddressDocument, field: string): void {
  const limit = item.limits?.debitAmount
  const asset = { code: walletAddress.assetCode, scale: walletAddress.assetScale }
  if (limit !== undefined && !isSameAsset(limit.asset, asset)) {
    throw invalidField(CODE, field, differs(limit.asset, asset, 'the wallet address has'))
  }
}

/** A receiver elsewhere need not be reachable now: only an answer that contradicts the limit is held against it. */
async function checkReceiveAsset(
  item: AccessItem,
  field: string,
  directory: Pick<ClientDirectory, 'getReceiverAsset'>
): Promise<void> {
  const { receiver, receiveAmount } = item.limits ?? {}
  if (receiver === undefined || receiveAmount === undefined) return
  let asset: Asset
  try {
    asset = await directory.getReceiverAsset(receiver)
  } catch (error) {
    if (error instanceof DocumentUnavailable) return
    throw error
  }
  if (!isSameAsset(receiveAmount.asset, asset)) {
    throw invalidField(CODE, field, differs(receiveAmount.asset, asset, 'the receiver has'))
  }
}

function differs(given: Asset, expected: Asset, owner: string): string {
  return (
    `asset ${given.code} with scale ${String(given.scale)} was given, ` +
    `${owner} ${expected.code} with scale ${String(expected.scale)}`
  )
}
