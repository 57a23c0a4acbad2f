import { invalidField } from '@open-payments-server/http-server'
import { type Asset, isSameAsset } from '@open-payments-server/amounts'
import type { AccessItem } from '../../domain/access.js'
import {
  type ClientDirectory,
  DirectoryBusy,
  DocumentUnavailable,
  type WalletAddressDocument
} from '../../domain/clients.js'
import type { SubjectRequest } from '../../domain/grants.js'
import { isLoopback, isSameEndpoint } from '../../domain/urls.js'
import type { GrantRequest } from './schema.js'

const CODE = 'invalid_request'

/**
 * Checks what an account holder is asked to agree to: every item, and every subject, is about one wallet address whose
 * grants are decided here, spelled as it spells itself, and limits are in the assets they are about. Without that, one
 * holder's consent would speak for the wallets of others.
 *
 * @param needsConsent whether an item is one that the account holder must agree to
 * @param grantEndpoint the public URL of this service
 * @throws PublicError 400 `invalid_request` naming the field
 */
export async function checkConsentable(
  request: { readonly access: readonly AccessItem[]; readonly subject: SubjectRequest | undefined },
  needsConsent: (item: AccessItem) => boolean,
  grantEndpoint: string,
  directory: Pick<ClientDirectory, 'getWalletAddress' | 'getReceiverAsset'>
): Promise<void> {
  const items = request.access.map(async (item, index) => {
    if (!needsConsent(item)) return
    const path = `access_token.access[${String(index)}]`
    if (item.identifier === undefined) {
      // The published API has no identifier for quotes, which show prices and nothing of anybody.
      if (item.type === 'quote') return
      throw invalidField(
        CODE,
        `${path}.identifier`,
        'this access needs the account holder of one wallet address'
      )
    }
    const walletAddress = await findOwnWalletAddress(
      item.identifier,
      `${path}.identifier`,
      grantEndpoint,
      directory
    )
    checkDebitAsset(item, walletAddress, `${path}.limits.debitAmount`)
    await checkReceiveAsset(item, `${path}.limits.receiveAmount`, directory)
  })
  const subjects = (request.subject?.sub_ids ?? []).map((subject, index) =>
    findOwnWalletAddress(subject.id, `subject.sub_ids[${String(index)}].id`, grantEndpoint, directory)
  )
  await Promise.all([...items, ...subjects])
}

async function findOwnWalletAddress(
  url: string,
  field: string,
  grantEndpoint: string,
  directory: Pick<ClientDirectory, 'getWalletAddress'>
): Promise<WalletAddressDocument> {
  const walletAddress = await findWalletAddress(url, field, directory)
  if (!isSameEndpoint(walletAddress.authServer, grantEndpoint)) {
    throw invalidField(CODE, field, 'the wallet address has another authorization server')
  }
  if (walletAddress.id !== undefined && walletAddress.id !== url) {
    throw invalidField(CODE, field, `the wallet address is spelled ${walletAddress.id}`)
  }
  return walletAddress
}

/** Longest identifier of what is hosted elsewhere, in characters: anybody can have it stored with a grant. */
const STRANGE_IDENTIFIER_LENGTH_MAX = 256

/**
 * Checks that what a grant names is hosted here, or has at most 256 characters. What is longer and below one of our origins is
 * looked up, because a stranger can make up addresses there, too.
 *
 * @param ownOrigins origins of this provider's own wallet addresses
 * @throws PublicError 400 `invalid_request` naming the field; {@link DirectoryBusy}
 */
export async function checkIdentifiers(
  request: Pick<GrantRequest, 'client' | 'access' | 'subject'>,
  ownOrigins: readonly string[],
  directory: Pick<ClientDirectory, 'getWalletAddress' | 'getReceiverAsset'>
): Promise<void> {
  const isHosted = async (url: string, find: (url: string) => Promise<unknown>): Promise<boolean> => {
    if (!ownOrigins.includes(new URL(url).origin)) return false
    try {
      await find(url)
      return true
    } catch (error) {
      if (error instanceof DocumentUnavailable) return false
      throw error
    }
  }
  const check = async (
    field: string,
    url: string | undefined,
    find: (url: string) => Promise<unknown>
  ): Promise<void> => {
    if (url === undefined || url.length <= STRANGE_IDENTIFIER_LENGTH_MAX || (await isHosted(url, find)))
      return
    const most = String(STRANGE_IDENTIFIER_LENGTH_MAX)
    throw invalidField(CODE, field, `expected at most ${most} characters unless it is hosted here`)
  }
  const walletAddress = (url: string): Promise<unknown> => directory.getWalletAddress(url)
  const receiver = (url: string): Promise<unknown> => directory.getReceiverAsset(url)
  await Promise.all([
    check('client', request.client.kind === 'key' ? undefined : request.client.walletAddress, walletAddress),
    ...request.access.flatMap(({ identifier, limits }, index) => {
      const path = `access_token.access[${String(index)}]`
      return [
        check(`${path}.identifier`, identifier, walletAddress),
        check(`${path}.limits.receiver`, limits?.receiver, receiver)
      ]
    }),
    ...(request.subject?.sub_ids ?? []).map(({ id }, index) =>
      check(`subject.sub_ids[${String(index)}].id`, id, walletAddress)
    )
  ])
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
    if (error instanceof DocumentUnavailable || error instanceof DirectoryBusy) return
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
