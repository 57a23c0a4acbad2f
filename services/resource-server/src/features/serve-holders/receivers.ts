import type { Asset } from '@open-payments-server/value-types/amounts'
import { invalidCallField } from '../../domain/call-refused.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { findPathProblem } from '../../domain/wallet-address.js'
import type { Queries } from '../../modules/database.js'
import {
  describeIncomingPayments,
  type DescribedIncomingPayment
} from '../../modules/incoming-payments/index.js'
import { nameWalletAddresses } from '../../modules/wallet-addresses/index.js'

/** Maximum number of receivers that are described together for a call. */
const RECEIVERS_MAX = 100

/** Maximum length of the URL of a receiver, in characters. */
const URL_LENGTH_MAX = 2_048

/** What describing receivers needs. */
export interface ReceiverDependencies {
  readonly database: Queries
  readonly urls: ResourceUrls
}

/** A receiver, for people. */
export type DescribedReceiver = {
  /** As it was given. */
  readonly url: string
  /** Domain of the URL, in ASCII, with a port that is not the usual one. */
  readonly domain: string
} & (
  | HostedReceiver
  /** `unknown`: there is nothing under this URL of the provider; `elsewhere`: it is somebody else's. */
  | { readonly kind: 'unknown' | 'elsewhere' }
)

/** A receiver that is hosted here. */
type HostedReceiver = {
  /** URL of the wallet address that is paid. */
  readonly walletAddress: string
  readonly publicName: string | undefined
  readonly asset: Asset
} & (
  | { readonly kind: 'wallet-address' }
  | ({ readonly kind: 'incoming-payment' } & Pick<
      DescribedIncomingPayment,
      'description' | 'incomingValue' | 'receivedValue' | 'completed' | 'expiresAtMs'
    >)
)

/**
 * Describes receivers for whoever is to consent to paying them: two statements, and no request to anyone else.
 *
 * @returns one for each URL, in their order
 * @throws CallRefused `invalid` naming the URL
 */
export async function describeReceivers(
  urls: readonly string[],
  dependencies: ReceiverDependencies
): Promise<readonly DescribedReceiver[]> {
  if (urls.length === 0 || urls.length > RECEIVERS_MAX)
    throw invalidCallField('urls', `must be 1 to ${String(RECEIVERS_MAX)}`)
  urls.forEach((url, index) => {
    if (!isReceiverUrl(url))
      throw invalidCallField(
        `urls[${String(index)}]`,
        `must be an http or https URL without user, of at most ${String(URL_LENGTH_MAX)} characters`
      )
  })
  return describeKnown(urls, dependencies)
}

/**
 * Describes the receivers of payments that were made, which may be many.
 *
 * @returns one for each URL, in their order
 */
export async function describeKnown(
  urls: readonly string[],
  { database, urls: ours }: ReceiverDependencies
): Promise<readonly DescribedReceiver[]> {
  const ids = new Set(urls.flatMap((url) => ours.idOf('incoming-payments', url) ?? []))
  const paths = new Set(urls.flatMap((url) => walletAddressPath(url, ours) ?? []))
  const [payments, walletAddresses] = await Promise.all([
    describeIncomingPayments(database, [...ids]),
    nameWalletAddresses(database, [...paths])
  ])
  const walletAddressOf = new Map(walletAddresses.map((walletAddress) => [walletAddress.path, walletAddress]))
  return urls.map((url) => {
    const named = { url, domain: URL.canParse(url) ? new URL(url).host : '' }
    const payment = payments.get(ours.idOf('incoming-payments', url) ?? '')
    if (payment !== undefined) {
      const { path, ...described } = payment
      return { ...named, ...described, kind: 'incoming-payment', walletAddress: ours.ofWalletAddress(path) }
    }
    const walletAddress = walletAddressOf.get(walletAddressPath(url, ours) ?? '')
    if (walletAddress !== undefined) {
      const { path, ...described } = walletAddress
      return { ...named, ...described, kind: 'wallet-address', walletAddress: ours.ofWalletAddress(path) }
    }
    return { ...named, kind: ours.leadsHere(url) ? 'unknown' : 'elsewhere' }
  })
}

/** Path of what may be a wallet address here; undefined for text that is none, and that PostgreSQL might not even accept. */
function walletAddressPath(url: string, ours: ResourceUrls): string | undefined {
  const path = ours.walletAddressPathOf(url)
  return path === undefined || findPathProblem(path) !== undefined ? undefined : path
}

/** Whatever the auth server takes as a receiver: somebody else's URLs may be any. */
function isReceiverUrl(url: string): boolean {
  if (url.length > URL_LENGTH_MAX || !/^https?:\/\/\S+$/.test(url) || !URL.canParse(url)) return false
  const { username, password } = new URL(url)
  return username === '' && password === ''
}
