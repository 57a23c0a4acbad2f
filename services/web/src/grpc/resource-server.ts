import {
  callUnary,
  type ClientObserver,
  createClient,
  observeCalls,
  RETRIES_MAX,
  RpcError,
  status
} from '@open-payments-server/grpc-transport'
import { wallet } from '@open-payments-server/proto'
import { MESSAGE_BYTES_MAX } from '@open-payments-server/service-kit/grpc'
import type { AmountWire } from '@open-payments-server/value-types/amounts'
import type { HeldWallet, Wallets } from '../domain/allowed.js'
import { type Claimant, type Holders, ServiceAway } from '../domain/grant.js'
import { allOf } from '../domain/paged.js'
import type { Payment, Receiver, Receivers } from '../domain/payment.js'
import { answerOf, REPEATABLE, there } from './answering.js'
import type { ServiceTarget } from './service-target.js'

const SERVICE = 'the resource server'
/** Codes by which a person does not hold a wallet address. */
const NOT_HELD: ReadonlySet<number> = new Set([status.FAILED_PRECONDITION, status.NOT_FOUND])
/** How many accounts are asked for at once: as many as the server gives. */
const ACCOUNTS_PAGE_SIZE = 200
/** Maximum number of receivers that are described with one call. */
const RECEIVERS_MAX = 100

type HolderClient = wallet.HolderServiceClient

/** The resource server, for what pages ask about account holders. */
export interface ResourceServerConnection extends Holders, Wallets, Receivers {
  /** From now on its calls are observed. */
  observe(observer: ClientObserver): void
  close(): void
}

/** Connects by itself, and reconnects when the connection breaks. */
export function connectResourceServer(target: ServiceTarget): ResourceServerConnection {
  const client = createClient(wallet.HolderServiceClient, {
    ...target,
    retriesMax: RETRIES_MAX,
    messageBytesMax: MESSAGE_BYTES_MAX
  })
  return {
    async stateOwnership(walletAddress, claimant) {
      try {
        const request = { walletAddress, ...claimantMessage(claimant) }
        const { statement } = await callUnary(client, 'stateOwnership', request, REPEATABLE)
        return statement
      } catch (error) {
        if (!(error instanceof RpcError)) throw error
        if (NOT_HELD.has(error.code)) return undefined
        throw new ServiceAway(SERVICE, { cause: error })
      }
    },
    walletsOf: (claimant) => walletsOf(client, claimant),
    async payments(claimant, grantId, { size, after }) {
      const page = { ...claimantMessage(claimant), pageSize: size, pageToken: after }
      const call =
        grantId === undefined
          ? callUnary(client, 'listHolderPayments', { ...page, ...EVERYTHING }, REPEATABLE)
          : callUnary(client, 'listGrantPayments', { ...page, grantId }, REPEATABLE)
      const { payments, nextPageToken } = await answerOf(SERVICE, call)
      return { items: payments.map(readPayment), next: nextPageToken }
    },
    describe: (urls, options) => describe(client, urls, options),
    observe(observer) {
      observeCalls(client, observer)
    },
    close() {
      client.close()
    }
  }
}

const EVERYTHING = { walletAddress: '', fromTime: undefined, untilTime: undefined }

function claimantMessage({ issuer, sub, holderClaimValues }: Claimant) {
  return { issuer, sub, holderClaimValues: [...holderClaimValues] }
}

async function walletsOf(client: HolderClient, claimant: Claimant): Promise<readonly HeldWallet[]> {
  const wallets: HeldWallet[] = []
  const pages = allOf(ACCOUNTS_PAGE_SIZE, async ({ size, after }) => {
    const request = { ...claimantMessage(claimant), pageSize: size, pageToken: after }
    const call = callUnary(client, 'listHolderAccounts', request, REPEATABLE)
    const { accounts, nextPageToken } = await answerOf(SERVICE, call)
    return { items: accounts, next: nextPageToken }
  })
  for await (const accounts of pages)
    for (const { asset, walletAddresses } of accounts)
      wallets.push(...walletAddresses.map(({ url }) => ({ url, asset: there(SERVICE, asset) })))
  return wallets
}

async function describe(
  client: HolderClient,
  urls: readonly string[],
  { asksProviders }: { readonly asksProviders: boolean }
): Promise<ReadonlyMap<string, Receiver>> {
  const wanted = [...new Set(urls)]
  const groups = Array.from({ length: Math.ceil(wanted.length / RECEIVERS_MAX) }, (_, group) =>
    wanted.slice(group * RECEIVERS_MAX, (group + 1) * RECEIVERS_MAX)
  )
  const answers = await Promise.all(
    groups.map((group) =>
      answerOf(
        SERVICE,
        callUnary(client, 'describeReceivers', { urls: group, askProviders: asksProviders }, REPEATABLE)
      )
    )
  )
  const receivers = answers.flatMap((answer) => answer.receivers.map(readReceiver))
  return new Map(receivers.map((receiver) => [receiver.url, receiver]))
}

function readReceiver({ url, kind, walletAddress, publicName, description }: wallet.Receiver): Receiver {
  return { url, place: placeOf(kind), walletAddress, name: publicName, description }
}

function placeOf(kind: wallet.ReceiverKind): Receiver['place'] {
  switch (kind) {
    case wallet.ReceiverKind.RECEIVER_KIND_WALLET_ADDRESS:
    case wallet.ReceiverKind.RECEIVER_KIND_INCOMING_PAYMENT:
      return 'here'
    case wallet.ReceiverKind.RECEIVER_KIND_UNKNOWN:
      return 'gone'
    default:
      return 'elsewhere'
  }
}

const STATES = ['awaiting_approval', 'pending', 'completed', 'failed'] as const

function readPayment(message: wallet.HolderPayment): Payment {
  const debitAsset = there(SERVICE, message.debitAsset)
  const receiveAsset = there(SERVICE, message.receiveAsset)
  const state = STATES.find((each) => each === message.state)
  if (state === undefined) throw new ServiceAway(`${SERVICE} said something unknown: ${message.state}`)
  return {
    url: message.payment,
    grantId: message.grantId,
    client: message.client,
    walletAddress: message.walletAddress,
    state,
    failureReason: message.failureReason,
    debit: amountOf(message.debitValue, debitAsset),
    sent: amountOf(message.sentValue, debitAsset),
    receive: amountOf(message.receiveValue, receiveAsset),
    received: amountOf(message.receivedValue, receiveAsset),
    refunded: amountOf(message.refundedValue, receiveAsset),
    receiver: readReceiver(there(SERVICE, message.receiver)),
    refundOf: message.refundOf,
    createdAtMs: there(SERVICE, message.createTime).getTime()
  }
}

function amountOf(value: string, { code, scale }: wallet.Asset): AmountWire {
  return { value, assetCode: code, assetScale: scale }
}
