import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Inspector } from '@open-payments-server/acceptance'
import { signRequest } from '@open-payments-server/http-signatures/sign'
import Table from 'cli-table3'
import { type Groundwork, layGroundwork } from './groundwork.js'
import { readMemory } from './process-usage.js'
import { STYLE } from './report/table.js'
import { type Stack, startStack } from './stack.js'

/** How clients wait: the headers that say so. */
const KINDS = {
  'events (SSE)': { accept: 'text/event-stream' },
  'Prefer: wait=60': { prefer: 'wait=60' }
} as const

/** Number of payments that change while all wait: each tells one client. */
const CHANGES = 200
/** Connections that are opened at a time. */
const OPENED_AT_ONCE = 50
const MEBIBYTE = 1_048_576
const KIBIBYTE = 1_024

/** A client that waits. */
interface WaitingClient {
  readonly socket: Socket
  /** Everything that it received. */
  received: string
}

/** What one kind of waiting costs. */
interface WaitingCost {
  readonly openedSeconds: number
  readonly heapBytes: number
  readonly residentBytes: number
  readonly latenciesMs: readonly number[]
  /** Statements per second while nothing changes. */
  readonly idleStatementsPerSecond: number
}

/**
 * Lets clients wait at one resource server, each for a payment of its own, and measures what each costs in memory, and how long
 * after a change it is told.
 *
 * @returns whether every client was told, and the audit found no violations
 */
export async function runWaiting(clients: number): Promise<boolean> {
  const most = String(clients + 1_000)
  const resource = { HTTP_CONNECTIONS_MAX: most, WAITING_CLIENTS_MAX: most, WAITING_PER_CLIENT_MAX: most }
  const stack = await startStack({ rows: 0, replicas: 1, rateLimits: true, inspected: true, resource })
  try {
    const groundwork = await layGroundwork(stack)
    const table = new Table({
      style: STYLE,
      head: [
        'Waiting',
        'clients',
        'opened in',
        'heap each',
        'RSS each',
        'told p50',
        'p99',
        'max',
        'SQL/s idle'
      ]
    })
    for (const [name, headers] of Object.entries(KINDS)) {
      const cost = await measureKind(stack, groundwork, clients, headers)
      const ms = (share: number): string => `${quantile(cost.latenciesMs, share).toFixed(0)} ms`
      const each = (bytes: number): string => `${(bytes / clients / KIBIBYTE).toFixed(1)} KiB`
      table.push([
        name,
        clients.toLocaleString('en'),
        `${cost.openedSeconds.toFixed(0)} s`,
        each(cost.heapBytes),
        each(cost.residentBytes),
        ms(0.5),
        ms(0.99),
        ms(1),
        cost.idleStatementsPerSecond.toFixed(1)
      ])
    }
    console.log(table.toString())
    const violations = await stack.system.audit()
    for (const violation of violations) console.log(`  audit: ${violation}`)
    return violations.length === 0
  } finally {
    await stack.stop()
  }
}

async function measureKind(
  stack: Stack,
  groundwork: Groundwork,
  count: number,
  headers: Readonly<Record<string, string>>
): Promise<WaitingCost> {
  const outlines = Array.from({ length: count }, (_, index) => groundwork.incomingOutline(index))
  const payments = (await groundwork.make('resource', 201, outlines, ['id'])).map(([id = '']) => id)
  const service = stack.services.find(({ options }) => options.name === 'resource-server')
  if (service === undefined) throw new Error('there is no resource server')
  const inspector = await Inspector.connect(service.options.inspectorPort ?? 0)
  const memory = async (): Promise<readonly [heap: number, resident: number]> => [
    await inspector.heapAfterCollection(),
    await readMemory(service.id)
  ]
  const before = await memory()
  const startedMs = performance.now()
  const clients: WaitingClient[] = []
  for (let from = 0; from < count; from += OPENED_AT_ONCE) {
    const urls = payments.slice(from, from + OPENED_AT_ONCE)
    clients.push(...(await Promise.all(urls.map((url) => openClient(url, stack, groundwork, headers)))))
  }
  const openedSeconds = (performance.now() - startedMs) / 1_000
  const after = await memory()
  console.log(
    `  ${String(count)} wait: heap ${mebibytes(before[0])} → ${mebibytes(after[0])} MiB, RSS ${mebibytes(before[1])} → ${mebibytes(after[1])} MiB`
  )
  const latenciesMs: number[] = []
  for (let change = 0; change < CHANGES; change += 1) {
    const index = Math.floor((change * count) / CHANGES)
    const [client, payment] = [clients[index], payments[index]]
    if (client === undefined || payment === undefined) throw new Error('nobody waits')
    latenciesMs.push(await timeUntilTold(client, payment, groundwork))
  }
  const statements = await stack.statementCount()
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  const idleStatementsPerSecond = ((await stack.statementCount()) - statements) / 3
  for (const { socket } of clients) socket.destroy()
  inspector.close()
  return {
    openedSeconds,
    heapBytes: after[0] - before[0],
    residentBytes: after[1] - before[1],
    latenciesMs,
    idleStatementsPerSecond
  }
}

/** Opens a connection and waits on it: for a stream, until it has begun. */
async function openClient(
  url: string,
  stack: Stack,
  { system, incomingToken }: Groundwork,
  kind: Readonly<Record<string, string>>
): Promise<WaitingClient> {
  const { hostname, port } = new URL(stack.targetsOf('resource')[0] ?? '')
  const headers = { ...kind, authorization: `GNAP ${incomingToken}` }
  const { keyId, privateKey } = system.shop.key
  const createdSeconds = Math.floor(Date.now() / 1_000)
  const parts = { method: 'GET', targetUri: url, headers, body: undefined }
  const all = {
    host: 'wallet.test',
    ...headers,
    ...signRequest(parts, { keyId, privateKey, createdSeconds })
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  const socket = connect(Number(port), hostname)
  const client: WaitingClient = { socket, received: '' }
  socket.setEncoding('utf8').on('data', (text: string) => {
    client.received += text
  })
  await once(socket, 'connect')
  socket.write(`GET ${new URL(url).pathname} HTTP/1.1\r\n${lines.join('')}\r\n`)
  if ('accept' in kind) while (!client.received.includes('\ndata: ')) await once(socket, 'data')
  return client
}

/** Completes a payment, and returns how long after the request its client was told, in milliseconds. */
async function timeUntilTold(
  client: WaitingClient,
  payment: string,
  { system, incomingToken }: Groundwork
): Promise<number> {
  const startedMs = performance.now()
  const told = (async () => {
    while (!client.received.includes('"completed":true')) await once(client.socket, 'data')
    return performance.now() - startedMs
  })()
  const answer = await system.shop.request('POST', `${payment}/complete`, { accessToken: incomingToken })
  if (answer.status !== 200) throw new Error(`${String(answer.status)} ${answer.text}`)
  return told
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN
}

function mebibytes(bytes: number): string {
  return (bytes / MEBIBYTE).toFixed(0)
}
