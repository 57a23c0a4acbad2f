import type { Logger } from '@open-payments-server/runtime'
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
import type { ReceiverReader } from '../../other-providers/index.js'

/** Maximum number of receivers that are described together for a call. */
const RECEIVERS_MAX = 100

/** Maximum length of the URL of a receiver, in characters. */
const URL_LENGTH_MAX = 2_048

/** Of how many receivers their providers are asked. */
const ASKED_MAX = 3
/** How long they may take, in milliseconds: a person waits for the page. */
const ASKING_MAX_MS = 2_000
/** Longest wallet address that is told by another provider, in characters: people could not read it. */
const TOLD_LENGTH_MAX = 200

/** What describing receivers needs. */
export interface ReceiverDependencies {
  readonly database: Queries
  readonly urls: ResourceUrls
}

/** What asking other providers needs besides. */
export interface AskingDependencies extends ReceiverDependencies {
  /** Undefined where no other provider is paid. */
  readonly receiverReader: Pick<ReceiverReader, 'readReceiver'> | undefined
  readonly logger: Logger
}

/** A receiver, for people. */
export type DescribedReceiver = {
  /** As it was given. */
  readonly url: string
  /** Domain of the URL, in ASCII, with a port that is not the usual one. */
  readonly domain: string
} & (
  | HostedReceiver
  /** There is nothing under this URL of the provider. */
  | { readonly kind: 'unknown' }
  | {
      /** It is somebody else's. */
      readonly kind: 'elsewhere'
      /** URL of the wallet address that is paid, as the provider said; undefined unless it was asked, and said one of its own. */
      readonly walletAddress: string | undefined
    }
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
 * Describes receivers for whoever is to consent to paying them: two statements, and no request to anyone else unless that is asked for.
 *
 * @param options.asksProviders asks other providers for the wallet addresses of the first receivers there
 * @returns one for each URL, in their order
 * @throws CallRefused `invalid` naming the URL
 */
export async function describeReceivers(
  urls: readonly string[],
  { asksProviders }: { readonly asksProviders: boolean },
  dependencies: AskingDependencies
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
  const described = await describeKnown(urls, dependencies)
  return asksProviders ? askProviders(described, dependencies) : described
}

async function askProviders(
  described: readonly DescribedReceiver[],
  { receiverReader, logger }: AskingDependencies
): Promise<readonly DescribedReceiver[]> {
  if (receiverReader === undefined) return described
  const asked = new Set(described.filter(({ kind }) => kind === 'elsewhere').slice(0, ASKED_MAX))
  const signal = AbortSignal.timeout(ASKING_MAX_MS)
  return Promise.all(
    described.map(async (receiver) => {
      if (receiver.kind !== 'elsewhere' || !asked.has(receiver)) return receiver
      try {
        const reading = await receiverReader.readReceiver(receiver.url, { signal })
        if (reading.kind !== 'found') {
          logger.info({ because: reading.kind }, 'another provider did not say whom its receiver pays')
          return receiver
        }
        return {
          ...receiver,
          walletAddress: ownWalletAddress(reading.receiver.walletAddressUrl, receiver.url)
        }
      } catch (error) {
        if (!signal.aborted) throw error
        logger.info('another provider took too long to say whom its receiver pays')
        return receiver
      }
    })
  )
}

/** A wallet address that a provider may speak of: with the origin of the receiver, so that nobody names another provider's customers. */
function ownWalletAddress(walletAddress: string, receiver: string): string | undefined {
  const { origin, search, hash, username } = new URL(walletAddress)
  const isPlain = search === '' && hash === '' && username === '' && walletAddress.length <= TOLD_LENGTH_MAX
  return isPlain && origin === new URL(receiver).origin ? walletAddress : undefined
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
    return ours.leadsHere(url)
      ? { ...named, kind: 'unknown' }
      : { ...named, kind: 'elsewhere', walletAddress: undefined }
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
