import { randomBytes } from 'node:crypto'
import { createDestination, createPeer, type ConnectedSystem } from '@open-payments-server/acceptance'
import { sealPacket, streamKeys } from '@open-payments-server/interledger'
import { systemRandom } from '@open-payments-server/runtime'
import Table from 'cli-table3'
import { inTurn } from './calls.js'
import { type PreparedRequest, sendHttp } from './generator/send-http.js'
import { readCpu } from './process-usage.js'
import { STYLE } from './report/table.js'
import type { Stack } from './stack.js'

/** How many peers send in turn, and to how many processes of the resource server. */
const RUNS = [
  { peers: 1, replicas: 1 },
  { peers: 1, replicas: 2 },
  { peers: 10_000, replicas: 2 }
] as const
/** Packets under way at a time: those of eight payments. */
const AT_A_TIME = 160
/** Incoming payments that they are for, in turn. */
const RECEIVERS = 8
/** Packets of a run, the first of which only warms up, and has every peer looked up. */
const PACKETS = 20_000
const PEERS_AT_ONCE = 16
/** Longer than any run. */
const SECONDS_MAX = 240
const PACKET_LIFETIME_MS = SECONDS_MAX * 1_000

type Destination = Awaited<ReturnType<typeof createDestination>>

/**
 * Measures how many packets of one unit are credited in a second: those of one peer, and those of ten thousand peers in turn. They are
 * sealed and encoded beforehand, as what the sender needs for that is not the receiver's.
 *
 * @param receiving with two replicas
 * @throws Error when a packet was not credited
 */
export async function measurePackets(receiving: Stack): Promise<void> {
  const head = [
    'Peers',
    'Replicas',
    'Packets/s',
    'p50 ms',
    'p99',
    'CPU resource ms',
    'postgres',
    'generator',
    'SQL'
  ]
  const table = new Table({ style: STYLE, head })
  for (const { peers, replicas } of RUNS) {
    const tokens = await createPeers(receiving.system, peers)
    const targets = receiving.targetsOf('packets').slice(0, replicas)
    const send = await preparedRuns(receiving.system, tokens, targets)
    await send()
    const before = { cpu: await readCpu(receiving.groups), statements: await receiving.statementCount() }
    const own = process.cpuUsage()
    const sent = await send()
    const { user, system } = process.cpuUsage(own)
    const after = { cpu: await readCpu(receiving.groups), statements: await receiving.statementCount() }
    const each = (total: number): string => (total / sent.count).toFixed(2)
    table.push([
      peers,
      replicas,
      (sent.count / sent.seconds).toFixed(0),
      sent.p50Ms.toFixed(0),
      sent.p99Ms.toFixed(0),
      each((after.cpu.resource ?? 0) - (before.cpu.resource ?? 0)),
      each((after.cpu.postgres ?? 0) - (before.cpu.postgres ?? 0)),
      each((user + system) / 1_000),
      each(after.statements - before.statements)
    ])
  }
  console.log(table.toString())
}

/** @returns their tokens */
async function createPeers(system: ConnectedSystem, count: number): Promise<string[]> {
  const tokens = Array.from({ length: count }, () => randomBytes(24).toString('hex'))
  let next = 0
  const work = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) {
      const token = tokens[index] ?? ''
      const name = `generator-${randomBytes(8).toString('hex')}`
      await createPeer(system, {
        name,
        ilpAddress: `test.${name}`,
        endpoint: 'http://127.0.0.1:1/',
        outgoingToken: token,
        incomingToken: token
      })
    }
  }
  await Promise.all(Array.from({ length: PEERS_AT_ONCE }, work))
  return tokens
}

/** @returns sends packets that were not sent yet, and makes sure that all were credited */
async function preparedRuns(
  system: ConnectedSystem,
  tokens: readonly string[],
  targets: string[]
): Promise<() => ReturnType<typeof sendHttp>> {
  const { host } = new URL(system.peering.ilpEndpoint)
  const destinations: Destination[] = []
  for (let count = 0; count < RECEIVERS; count += 1) destinations.push(await createDestination(system))
  let sequence = 0
  return async () => {
    const requests = Array.from({ length: PACKETS }, (_, index) => {
      sequence += 1
      return packetRequest(inTurn(destinations, index), { sequence, host, token: inTurn(tokens, index) })
    })
    const before = await creditedValue(system)
    const sent = await sendHttp(
      requests,
      { next: 0 },
      {
        do: 'send',
        targets,
        concurrency: AT_A_TIME,
        seconds: SECONDS_MAX,
        repeat: false,
        status: 200
      }
    )
    const credited = (await creditedValue(system)) - before
    if (credited !== BigInt(PACKETS))
      throw new Error(`${String(credited)} of ${String(PACKETS)} were credited`)
    return sent
  }
}

function packetRequest(
  { ilpAddress, sharedSecret }: Destination,
  { sequence, host, token }: { readonly sequence: number; readonly host: string; readonly token: string }
): PreparedRequest {
  const { prepare } = sealPacket(
    {
      sequence,
      sendValue: 1n,
      deliverMinValue: 1n,
      frames: [],
      expiresAtMs: Date.now() + PACKET_LIFETIME_MS,
      isFulfillable: true
    },
    ilpAddress,
    streamKeys(sharedSecret),
    systemRandom
  )
  const headers = { host, authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' }
  return {
    method: 'POST',
    path: '/',
    headers: [...Object.entries(headers).flat(), 'content-length', String(prepare.length)],
    body: prepare
  }
}

/** What packets have brought so far, in the smallest units. */
async function creditedValue({ resourceDatabase }: ConnectedSystem): Promise<bigint> {
  const sql = 'select coalesce(sum(value), 0)::text as value from received_packet'
  return BigInt((await resourceDatabase.query<{ value: string }>(sql, []))[0]?.value ?? 0)
}
