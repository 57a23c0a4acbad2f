import { type Asset, isSameAsset } from '@open-payments-server/value-types/amounts'
import type { AccessItem } from '../../domain/access.js'
import {
  type ClientDirectory,
  DirectoryBusy,
  DocumentUnavailable,
  HostUnavailable,
  type WalletAddressDocument
} from '../../domain/clients.js'
import { hostUnavailable, invalidField } from '../../domain/errors.js'
import type { SubjectRequest } from '../../domain/grants.js'
import { isLoopback, isSameEndpoint, normalizeWalletAddress } from '../../domain/urls.js'
import type { GrantRequest } from './request.js'

/** What one account holder is asked to consent to. */
export interface Consent {
  /** URL of the wallet address whose account holder must consent. */
  readonly walletAddress: string
  /** The requested access, in which each item that needs consent names that wallet address. */
  readonly access: readonly AccessItem[]
}

/** A wallet address that a request names, and the field that names it. */
interface NamedWalletAddress {
  readonly url: string
  readonly field: string
}

/**
 * Checks what an account holder is asked to consent to. Every item that needs consent, and every subject, must name the
 * same wallet address, whose grants are decided here, spelled as in its own document, and limits must be in the right
 * assets. Otherwise one account holder's consent would speak for the wallets of others.
 *
 * The published API has no identifier for quotes: a quote item that needs consent and names no wallet address gets the one
 * that the rest of the request names (RFC 9635 §3.2.1: the rights may vary from those requested).
 *
 * @param needsConsent whether an item needs the account holder's consent
 * @param grantEndpoint the public URL of this service
 * @throws Refusal `invalid-field` naming it
 */
export async function checkConsentable(
  request: { readonly access: readonly AccessItem[]; readonly subject: SubjectRequest | undefined },
  needsConsent: (item: AccessItem) => boolean,
  grantEndpoint: string,
  directory: Pick<ClientDirectory, 'getWalletAddress' | 'getReceiverAsset'>
): Promise<Consent> {
  const asked = request.access.flatMap((item, index) =>
    needsConsent(item) ? [{ item, path: `access_token.access[${String(index)}]` }] : []
  )
  const items = asked.flatMap(({ item, path }) => nameOf(item, `${path}.identifier`))
  const subjects = (request.subject?.sub_ids ?? []).map(({ id }, index) => ({
    url: id,
    field: `subject.sub_ids[${String(index)}].id`
  }))
  const [first, ...others] = [...items, ...subjects]
  if (first === undefined) throw nobodyNamed(`${asked[0]?.path ?? 'access_token.access[0]'}.identifier`)
  for (const other of others) checkSameWalletAddress(other, first)
  const walletAddress = await findOwnWalletAddress(first, grantEndpoint, directory)
  for (const named of [first, ...others]) checkSpelling(named, walletAddress)
  await Promise.all(
    asked.map(({ item, path }) => {
      checkDebitAsset(item, walletAddress, `${path}.limits.debitAmount`)
      return checkReceiveAsset(item, `${path}.limits.receiveAmount`, directory)
    })
  )
  return {
    walletAddress: first.url,
    access: request.access.map((item) =>
      needsConsent(item) && item.identifier === undefined ? { ...item, identifier: first.url } : item
    )
  }
}

/** @throws Refusal `invalid-field` when an item must name a wallet address and does not */
function nameOf({ type, identifier }: AccessItem, field: string): NamedWalletAddress[] {
  if (identifier !== undefined) return [{ url: identifier, field }]
  if (type === 'quote') return []
  throw nobodyNamed(field)
}

function nobodyNamed(field: string): Error {
  return invalidField(field, 'this access needs the account holder of one wallet address')
}

/** Compares normalized URLs. The exact spelling is checked once the wallet address is known. */
function checkSameWalletAddress(other: NamedWalletAddress, first: NamedWalletAddress): void {
  const normalized = normalizeWalletAddress(other.url)
  if (normalized === undefined || normalized !== normalizeWalletAddress(first.url)) {
    const problem = `one account holder is asked, and ${first.field} names another wallet address`
    throw invalidField(other.field, problem)
  }
}

async function findOwnWalletAddress(
  { url, field }: NamedWalletAddress,
  grantEndpoint: string,
  directory: Pick<ClientDirectory, 'getWalletAddress'>
): Promise<WalletAddressDocument> {
  const walletAddress = await findWalletAddress(url, field, directory)
  if (!isSameEndpoint(walletAddress.authServer, grantEndpoint)) {
    throw invalidField(field, 'the wallet address has another authorization server')
  }
  return walletAddress
}

/** Everything after this compares the exact spelling: payments, and who consented. */
function checkSpelling({ url, field }: NamedWalletAddress, { id }: WalletAddressDocument): void {
  if (id === url) return
  const problem =
    id === undefined ? 'the wallet address does not say its id' : `the wallet address is spelled ${id}`
  throw invalidField(field, problem)
}

/** Maximum length of an identifier of what is hosted elsewhere, in characters: anyone can store it with a grant. */
const STRANGE_IDENTIFIER_LENGTH_MAX = 256

/**
 * Checks that what a grant names is hosted here, or has at most 256 characters. A longer one below one of our origins is
 * looked up, because a stranger can invent addresses there too.
 *
 * @param ownOrigins origins of this provider's own wallet addresses
 * @throws Refusal `invalid-field` naming it; `host-unavailable`; {@link DirectoryBusy}
 */
export async function checkIdentifiers(
  request: Pick<GrantRequest, 'client' | 'access' | 'subject'>,
  ownOrigins: readonly string[],
  directory: Pick<ClientDirectory, 'getWalletAddress' | 'getReceiverAsset'>
): Promise<void> {
  const isHosted = async (
    field: string,
    url: string,
    find: (url: string) => Promise<unknown>
  ): Promise<boolean> => {
    if (!ownOrigins.includes(new URL(url).origin)) return false
    try {
      await find(url)
      return true
    } catch (error) {
      if (error instanceof HostUnavailable) throw unavailable(field, url, error)
      if (error instanceof DocumentUnavailable) return false
      throw error
    }
  }
  const check = async (
    field: string,
    url: string | undefined,
    find: (url: string) => Promise<unknown>
  ): Promise<void> => {
    if (
      url === undefined ||
      url.length <= STRANGE_IDENTIFIER_LENGTH_MAX ||
      (await isHosted(field, url, find))
    )
      return
    const most = String(STRANGE_IDENTIFIER_LENGTH_MAX)
    throw invalidField(field, `expected at most ${most} characters unless it is hosted here`)
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
 * Checks where the browser is sent at the end of the interaction: an https URL; http only on the browser's own machine, or
 * in development (RFC 9635 §2.5.2).
 *
 * @throws Refusal `invalid-field` naming it
 */
export function checkFinishUri(uri: string, allowHttp: boolean): void {
  const url = new URL(uri)
  if (url.protocol !== 'https:' && !allowHttp && !isLoopback(url)) {
    throw invalidField('interact.finish.uri', 'expected an https URL')
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
    if (error instanceof HostUnavailable && error.mayBeTold) throw unavailable(field, identifier, error)
    if (error instanceof DocumentUnavailable) throw invalidField(field, 'unknown wallet address')
    throw error
  }
}

function unavailable(field: string, url: string, error: HostUnavailable): Error {
  return hostUnavailable(`${field}: ${url} cannot be fetched now`, error)
}

function checkDebitAsset(item: AccessItem, walletAddress: WalletAddressDocument, field: string): void {
  const limit = item.limits?.debitAmount
  const asset = { code: walletAddress.assetCode, scale: walletAddress.assetScale }
  if (limit !== undefined && !isSameAsset(limit.asset, asset)) {
    throw invalidField(field, differs(limit.asset, asset, 'the wallet address has'))
  }
}

/** A receiver elsewhere need not be reachable now: only an answer that contradicts the limit leads to a refusal. */
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
    throw invalidField(field, differs(receiveAmount.asset, asset, 'the receiver has'))
  }
}

function differs(given: Asset, expected: Asset, owner: string): string {
  return (
    `asset ${given.code} with scale ${String(given.scale)} was given, ` +
    `${owner} ${expected.code} with scale ${String(expected.scale)}`
  )
}
