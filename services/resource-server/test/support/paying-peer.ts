import { randomBytes, randomUUID } from 'node:crypto'
import {
  callUnary,
  createClient,
  type RequestOf,
  type ResponseOf,
  type UnaryMethodName
} from '@open-payments-server/grpc-transport'
import {
  createSenderClock,
  decodeReply,
  type JournalAnswer,
  type JournalPacket,
  NO_PROGRESS,
  type PacketPath,
  pay,
  type PayResult,
  type Reply,
  type StreamCredentials
} from '@open-payments-server/interledger'
import { wallet } from '@open-payments-server/proto'
import { request } from 'undici'
import type { TestResourceServer } from './resource-server.js'

type Peers = wallet.PeerServiceClient

/** What a peer is created with: what is not given is as {@link createPeers} says. */
export type PeerSettings = Partial<wallet.CreatePeerRequest>

/** A packet on the wire, and what it was answered with. */
export interface PostedPacket {
  readonly prepare: Buffer
  readonly status: number
  /** undefined unless the status is 200. */
  readonly reply: Reply | undefined
}

/** Another provider, which sends packets to the resource server. */
export interface PayingPeer {
  readonly name: string
  readonly token: string
  /** Everything that it posted, in the order of the answers. */
  readonly posted: readonly PostedPacket[]
  /** The same peer, beside another replica. */
  at(replica: Pick<TestResourceServer, 'server'>): PayingPeer
  /** Posts bytes as a packet. */
  post(prepare: Buffer, headers?: Readonly<Record<string, string>>): Promise<PostedPacket>
  /**
   * Sends a payment.
   *
   * @param value in its asset
   * @param deliverValue what is to arrive at least, in the receiver's; the same unless given
   */
  pay(
    destination: StreamCredentials,
    value: bigint,
    deliverValue?: bigint,
    options?: {
      readonly packetLimitValue?: bigint
      readonly packetLifetimeMs?: number
      readonly path?: (path: PacketPath) => PacketPath
    }
  ): Promise<PayResult>
}

/** Operates the peers of a resource server. */
export interface TestPeers {
  /** Calls an operator's method over gRPC. */
  operate<Name extends UnaryMethodName<Peers>>(
    method: Name,
    request: RequestOf<Peers, Name>
  ): Promise<ResponseOf<Peers, Name>>
  /** Creates a peer in US dollars, without limits, with a token of its own. */
  create(settings?: PeerSettings): Promise<PayingPeer>
  /** How a payment is to be paid, as its client reads it. */
  destinationOf(methods: unknown): StreamCredentials
  /** What a peer owes. */
  owedBy(peer: PayingPeer): Promise<string | undefined>
  close(): void
}

/** Where {@link createPeers} expects packets: settings of a resource server that takes them. */
export const PEER_SETTINGS = {
  ILP_HOST: '127.0.0.1',
  ILP_PORT: '0',
  PEER_SECRET_KEY: 'the-master-key-of-tokens-of-peers'
} as const

/** Operates peers of a resource server that was started with {@link PEER_SETTINGS}. */
export function createPeers({ server, clock }: Pick<TestResourceServer, 'server' | 'clock'>): TestPeers {
  const operator = createClient(wallet.PeerServiceClient, {
    target: `127.0.0.1:${String(server.grpcPort)}`,
    deadlineMs: 10_000,
    retriesMax: 0,
    messageBytesMax: 1_048_576
  })
  const operate: TestPeers['operate'] = (method, message) =>
    callUnary(operator, method, message, { idempotent: false })
  return {
    operate,
    async create(settings = {}) {
      const order = { ...newPeer(), ...settings }
      await operate('createPeer', order)
      return payingPeer(order, server.ilpPort, () => clock.now())
    },
    destinationOf(methods) {
      const [method] = methods as { readonly ilpAddress: string; readonly sharedSecret: string }[]
      if (method === undefined) throw new Error('the payment has no method')
      return { ilpAddress: method.ilpAddress, sharedSecret: Buffer.from(method.sharedSecret, 'base64url') }
    },
    async owedBy({ name }) {
      return (await operate('getPeer', { name })).peer?.receivableValue
    },
    close() {
      operator.close()
    }
  }
}

/** What a packet was answered with: `fulfill`, or the code of the reject; undefined when it was not. */
export function codeOf({ reply }: PostedPacket): string | undefined {
  return reply?.type === 'reject' ? reply.code : reply?.type
}

/**
 * A packet that pays, caught before it is posted.
 *
 * @param value in the peer's asset
 * @param deliverValue what is to arrive at least, in the receiver's; the same unless given
 * @param packetLifetimeMs until it expires
 */
export async function catchPacket(
  peer: Pick<PayingPeer, 'pay'>,
  destination: StreamCredentials,
  value: bigint,
  deliverValue = value,
  packetLifetimeMs?: number
): Promise<Buffer> {
  let caught: Buffer | undefined
  await peer.pay(destination, value, deliverValue, {
    ...(packetLifetimeMs !== undefined && { packetLifetimeMs }),
    path: () => ({
      send(prepare) {
        caught ??= prepare
        return Promise.reject(new Error('caught'))
      }
    })
  })
  if (caught === undefined) throw new Error('no packet was sent')
  return caught
}

/** A request to create a peer that nobody else is. */
export function newPeer(): wallet.CreatePeerRequest {
  return {
    name: `peer-${randomUUID()}`,
    asset: { code: 'USD', scale: 2 },
    ilpAddress: 'test.other',
    routes: [],
    endpoint: 'http://127.0.0.1:1/',
    outgoingToken: 'what-we-present-to-them',
    incomingToken: randomBytes(16).toString('hex'),
    receivableLimitValue: '',
    payableLimitValue: '',
    packetLimitValue: '',
    lowAlertValue: '',
    highAlertValue: ''
  }
}

function payingPeer(
  order: wallet.CreatePeerRequest,
  port: number | undefined,
  now: () => number
): PayingPeer {
  const { name, incomingToken: token } = order
  const posted: PostedPacket[] = []
  const post: PayingPeer['post'] = async (prepare, headers = {}) => {
    const answer = await request(`http://127.0.0.1:${String(port)}/`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream', ...headers },
      body: prepare
    })
    const bytes = Buffer.from(await answer.body.arrayBuffer())
    const reply = answer.statusCode === 200 ? decodeReply(bytes) : undefined
    const one = { prepare, status: answer.statusCode, reply, bytes }
    posted.push(one)
    return one
  }
  const path: PacketPath = {
    async send(prepare) {
      const { status } = await post(prepare)
      const last = posted.findLast((one) => one.prepare === prepare) as PostedPacket & {
        readonly bytes: Buffer
      }
      if (status !== 200) throw new Error(`answered with ${String(status)}`)
      return last.bytes
    }
  }
  // Pauses end as time passes, which the clock of the service does only when it is told to.
  const startedMs = performance.now()
  const clock = createSenderClock({ now: () => now() + Math.floor(performance.now() - startedMs) })
  return {
    name,
    token,
    posted,
    at: ({ server }) => payingPeer(order, server.ilpPort, now),
    post,
    pay: (destination, value, deliverValue = value, options = {}) =>
      pay(
        {
          destination,
          terms: { sendMaxValue: value, deliverValue },
          path: { rate: undefined, packetLimitValue: options.packetLimitValue },
          progress: NO_PROGRESS,
          packetLifetimeMs: options.packetLifetimeMs ?? 20_000,
          untilMs: Infinity,
          signal: new AbortController().signal
        },
        {
          path: options.path?.(path) ?? path,
          clock,
          random: { bytes: randomBytes },
          journal: createForgetfulJournal()
        }
      )
  }
}

/** These payments end before they are forgotten. */
function createForgetfulJournal() {
  return {
    write: (_answers: readonly JournalAnswer[], _packets: readonly JournalPacket[]) => Promise.resolve()
  }
}
