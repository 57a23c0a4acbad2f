import {
  amount,
  consentedToken,
  createReceiver,
  eventually,
  outgoingAccess,
  PEER_NAME,
  peerSystems,
  requestToken
} from '@open-payments-server/acceptance'
import { callUnary } from '@open-payments-server/grpc-transport'
import Table from 'cli-table3'
import { measurePackets } from './packets.js'
import { type CpuByProcess, readCpu } from './process-usage.js'
import { STYLE } from './report/table.js'
import { type Stack, startStack } from './stack.js'
import { summariseLatencies } from './statistics.js'

/** Payments that are quoted and ordered at a time. */
const AT_A_TIME = [1, 8, 32] as const
/** Number of incoming payments that are paid: several payments go to each. */
const RECEIVERS = 50
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
  return (
    (await withStack(1, (sending) => withStack(1, (receiving) => pay({ sending, receiving }, payments)))) &&
    receivePackets()
  )
}

async function pay(pair: Pair, payments: number): Promise<boolean> {
  await peerSystems(pair.sending.system, pair.receiving.system)
  await measurePayments(pair, payments)
  return await isConsistent(pair)
}

/** Alone on the machine: a second process of the resource server takes time that the payments would need. */
function receivePackets(): Promise<boolean> {
  return withStack(2, async (receiving) => {
    await measurePackets(receiving)
    const wrong = await receiving.system.audit()
    return report(wrong)
  })
}

async function withStack(replicas: number, use: (stack: Stack) => Promise<boolean>): Promise<boolean> {
  const stack = await startStack({ rows: 0, rateLimits: true, inspected: false, replicas })
  try {
    return await use(stack)
  } catch (error) {
    for (const { output } of stack.services) console.log(output)
    throw error
  } finally {
    await stack.stop()
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

/** Whether both installations agree on what one owes the other, and both audits found nothing. */
async function isConsistent({ sending, receiving }: Pair): Promise<boolean> {
  const peerOf = async ({ system }: Stack) =>
    (await callUnary(system.peers, 'getPeer', { name: PEER_NAME }, { idempotent: true })).peer
  const [owed, due] = [(await peerOf(sending))?.payableValue, (await peerOf(receiving))?.receivableValue]
  const wrong = [...(await sending.system.audit()), ...(await receiving.system.audit())]
  if (owed !== due) wrong.push(`the sender owes ${String(owed)}, and the receiver is owed ${String(due)}`)
  return report(wrong)
}

/** Prints sentences of what is wrong. @returns whether nothing is */
function report(wrong: readonly string[]): boolean {
  for (const sentence of wrong) console.log(`  ${sentence}`)
  return wrong.length === 0
}
