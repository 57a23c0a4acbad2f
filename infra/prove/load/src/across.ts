import { randomBytes } from 'node:crypto'
import {
  amount,
  consentedToken,
  createDestination,
  createPeer,
  createReceiver,
  eventually,
  outgoingAccess,
  PEER_NAME,
  peerSystems,
  requestToken
} from '@open-payments-server/acceptance'
import { callUnary } from '@open-payments-server/grpc-transport'
import {
  createSenderClock,
  NO_PROGRESS,
  type PacketJournal,
  type PacketPath,
  pay
} from '@open-payments-server/interledger'
import { systemClock, systemRandom } from '@open-payments-server/runtime'
import Table from 'cli-table3'
import { Pool } from 'undici'
import { type CpuByProcess, readCpu } from './process-usage.js'
import { STYLE } from './report/table.js'
import { type Stack, startStack } from './stack.js'
import { summariseLatencies } from './statistics.js'

/** Payments that are quoted and ordered at a time. */
const AT_A_TIME = [1, 8, 32] as const
/** Number of incoming payments that are paid: several payments go to each. */
const RECEIVERS = 50
/** Payments whose packets are sent at a time, each with up to twenty packets under way. */
const PACKET_SENDERS = 8
const PACKETS_PER_SENDER = 1_000
const ENDED_WITHIN_MS = 120_000

/** Two installations on this machine that are each other's peers. */
interface Pair {
  readonly sending: Stack
  readonly receiving: Stack
}

/**
 * Pays from one installation to another, both on this machine, and measures how many payments end in a second, how long a quote takes
 * whose receiver must be read and probed, and how many packets are credited in a second.
 *
 * @param payments their number, at each concurrency
 * @returns whether every payment was completed, both agree on what is owed, and both audits found nothing
 */
export async function runAcross(payments: number): Promise<boolean> {
  const options = { rows: 0, replicas: 1, rateLimits: true, inspected: false }
  const sending = await startStack(options)
  try {
    const receiving = await startStack(options)
    try {
      const pair = { sending, receiving }
      await peerSystems(sending.system, receiving.system)
      await measurePayments(pair, payments)
      await measurePackets(pair)
      return await isConsistent(pair)
    } finally {
      await receiving.stop()
    }
  } finally {
    await sending.stop()
  }
}

async function measurePayments(pair: Pair, payments: number): Promise<void> {
  const groups = ['auth', 'resource', 'postgres'] as const
  const head = ['At a time', 'Payments/s', 'Quote p50 ms', 'p99', 'Payment p50 ms', 'p99']
  const cpu = groups.flatMap((group) => [`CPU ${group} ms`, 'of receiver'])
  const table = new Table({ style: STYLE, head: [...head, ...cpu, 'SQL', 'of receiver'] })
  const payer = await createPayer(pair)
  // What is done once for all: connections, the grant at the other provider, compilation.
  await Promise.all(Array.from({ length: 50 }, (_, index) => payer.pay(index)))
  await payer.ended()
  for (const atATime of AT_A_TIME) {
    const before = await usageOf(pair)
    const startedMs = performance.now()
    const times = { quoteMs: [] as number[], orderMs: [] as number[] }
    let next = 0
    const work = async (): Promise<void> => {
      while (next < payments) {
        const { quoteMs, orderMs } = await payer.pay(next++)
        times.quoteMs.push(quoteMs)
        times.orderMs.push(orderMs)
      }
    }
    await Promise.all(Array.from({ length: atATime }, work))
    await payer.ended()
    const seconds = (performance.now() - startedMs) / 1_000
    const after = await usageOf(pair)
    const each = (from: number, to: number): string => ((to - from) / payments).toFixed(2)
    table.push([
      atATime,
      (payments / seconds).toFixed(0),
      ...[times.quoteMs, times.orderMs].flatMap((list) => {
        const { p50Ms, p99Ms } = summariseLatencies(Float64Array.from(list))
        return [p50Ms.toFixed(1), p99Ms.toFixed(1)]
      }),
      ...groups.flatMap((group) => [
        each(before.sending[group] ?? 0, after.sending[group] ?? 0),
        each(before.receiving[group] ?? 0, after.receiving[group] ?? 0)
      ]),
      each(before.sentStatements, after.sentStatements),
      each(before.receivedStatements, after.receivedStatements)
    ])
  }
  console.log(table.toString())
}

async function usageOf({ sending, receiving }: Pair): Promise<{
  readonly sending: CpuByProcess
  readonly receiving: CpuByProcess
  readonly sentStatements: number
  readonly receivedStatements: number
}> {
  return {
    sending: await readCpu(sending.groups),
    receiving: await readCpu(receiving.groups),
    sentStatements: await sending.statementCount(),
    receivedStatements: await receiving.statementCount()
  }
}

/** Pays receivers at the other installation. */
interface Payer {
  /** Quotes a payment and orders it. Resolves to how long each took. */
  pay(index: number): Promise<{ readonly quoteMs: number; readonly orderMs: number }>
  /** Resolves once every payment has ended. @throws Error when one failed */
  ended(): Promise<void>
}

async function createPayer({ sending: { system }, receiving }: Pair): Promise<Payer> {
  const { shop, walletAddresses, resourceServerUrl } = system
  const receivers: string[] = []
  for (let count = 0; count < RECEIVERS; count += 1) {
    receivers.push((await createReceiver(receiving.system, receiving.system.shop)).url)
  }
  const quoteToken = await requestToken(system, shop, [{ type: 'quote', actions: ['create', 'read'] }])
  const { token } = await consentedToken(system, shop, [
    outgoingAccess(system, { debitAmount: amount(1_000_000_000) })
  ])
  const create = async (
    path: string,
    accessToken: string,
    body: object
  ): Promise<[id: string, ms: number]> => {
    const startedMs = performance.now()
    const answer = await shop.request('POST', `${resourceServerUrl}${path}`, { accessToken, body })
    if (answer.status !== 201) throw new Error(`${path}: ${String(answer.status)} ${answer.text}`)
    return [answer.textAt('id'), performance.now() - startedMs]
  }
  return {
    async pay(index) {
      const order = { walletAddress: walletAddresses.alice }
      const receiver = receivers[index % receivers.length]
      const debit = { receiver, method: 'ilp', debitAmount: amount(2) }
      const [quoteId, quoteMs] = await create('/quotes', quoteToken, { ...order, ...debit })
      const [, orderMs] = await create('/outgoing-payments', token, { ...order, quoteId })
      return { quoteMs, orderMs }
    },
    async ended() {
      const count = async (state: string): Promise<string | undefined> => {
        const sql = 'select count(*)::text as count from outgoing_payment where state::text = $1'
        return (await system.resourceDatabase.query<{ count: string }>(sql, [state]))[0]?.count
      }
      const isOver = async (): Promise<boolean> => (await count('pending')) === '0'
      await eventually('every payment ended', isOver, ENDED_WITHIN_MS)
      const failed = await count('failed')
      if (failed !== '0') throw new Error(`${String(failed)} payments failed`)
    }
  }
}

/** Sends packets of one unit to receivers of the receiving installation, as a peer of its own. */
async function measurePackets({ receiving }: Pair): Promise<void> {
  const { system } = receiving
  const token = randomBytes(24).toString('hex')
  await createPeer(system, {
    name: 'generator',
    ilpAddress: 'test.generator',
    endpoint: 'http://127.0.0.1:1/',
    outgoingToken: token,
    incomingToken: token
  })
  const { origin } = new URL(system.peering.ilpEndpoint)
  const pool = new Pool(origin, { connections: PACKET_SENDERS * 20 })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' }
  const path: PacketPath = {
    async send(prepare, signal) {
      const answer = await pool.request({ method: 'POST', path: '/', headers, body: prepare, signal })
      return Buffer.from(await answer.body.arrayBuffer())
    }
  }
  const destinations: Destination[] = []
  for (let sender = 0; sender < PACKET_SENDERS; sender += 1) {
    destinations.push(await createDestination(system))
  }
  const sendAll = async (packets: number): Promise<number> => {
    const startedMs = performance.now()
    await Promise.all(destinations.map((destination) => sendPackets({ destination, path, packets })))
    return (PACKET_SENDERS * packets) / ((performance.now() - startedMs) / 1_000)
  }
  await sendAll(50)
  const before = await readCpu(receiving.groups)
  const perSecond = await sendAll(PACKETS_PER_SENDER)
  const after = await readCpu(receiving.groups)
  const each = (group: string): string =>
    (((after[group] ?? 0) - (before[group] ?? 0)) / (PACKET_SENDERS * PACKETS_PER_SENDER)).toFixed(2)
  console.log(
    `  ${perSecond.toFixed(0)} packets credited a second; CPU of each: resource server ${each('resource')} ms, PostgreSQL ${each('postgres')} ms`
  )
  await pool.close()
}

type Destination = Parameters<typeof pay>[0]['destination']

async function sendPackets({
  destination,
  path,
  packets
}: {
  readonly destination: Destination
  readonly path: PacketPath
  readonly packets: number
}): Promise<void> {
  const value = BigInt(packets)
  const journal: PacketJournal = { write: () => Promise.resolve() }
  const { end } = await pay(
    {
      destination,
      terms: { sendMaxValue: value, deliverValue: value },
      path: { rate: undefined, packetLimitValue: 1n },
      progress: NO_PROGRESS,
      packetLifetimeMs: 20_000,
      signal: new AbortController().signal
    },
    {
      path,
      journal,
      random: systemRandom,
      clock: createSenderClock(systemClock)
    }
  )
  if (end.outcome !== 'complete') throw new Error(`packets were not taken: ${JSON.stringify(end)}`)
}

/** Whether both installations agree on what one owes the other, and both audits found nothing. */
async function isConsistent({ sending, receiving }: Pair): Promise<boolean> {
  const peerOf = async ({ system }: Stack) =>
    (await callUnary(system.peers, 'getPeer', { name: PEER_NAME }, { idempotent: true })).peer
  const [owed, due] = [(await peerOf(sending))?.payableValue, (await peerOf(receiving))?.receivableValue]
  const wrong = [...(await sending.system.audit()), ...(await receiving.system.audit())]
  if (owed !== due) wrong.push(`the sender owes ${String(owed)}, and the receiver is owed ${String(due)}`)
  for (const sentence of wrong) console.log(`  ${sentence}`)
  return wrong.length === 0
}
