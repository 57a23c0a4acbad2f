import {
  type ConnectedSystem,
  connectInRealTime,
  planSystem,
  QUICK,
  ServiceProcess
} from '@open-payments-server/acceptance'
import { findFreePort, startTcpProxy, type TcpProxy } from '@open-payments-server/local-services'
import { scrapeMetrics } from '@open-payments-server/testing'

/** What a resource server holds at a moment, by its metrics. */
export interface Holdings {
  /** Memory, in MiB. */
  readonly memoryMiB: number
  /** Open files and sockets, without the connections of clients, who keep theirs. NaN where the machine does not tell. */
  readonly files: number
  readonly requestsInFlight: number
  readonly databaseConnections: number
}

/** How long a call to the auth server may take, in milliseconds: what it is in production. */
export const CALL_DEADLINE_MS = 3_000

/** Both services as processes, and a wire for calls between them that can be cut. */
export interface AwaySystem extends ConnectedSystem {
  readonly authServer: ServiceProcess
  /** Between the resource server and the auth server. */
  readonly wire: TcpProxy
  /** What the resource server holds now. */
  holdings(): Promise<Holdings>
  /** What the services said last. */
  output(): string
  stop(): Promise<void>
}

/** Starts both services as in production, with a proxy between them. */
export async function startAwaySystem(): Promise<AwaySystem> {
  const metricsPort = await findFreePort()
  const wires: TcpProxy[] = []
  const plan = await planSystem({
    auth: QUICK.auth,
    resource: {
      ...QUICK.resource,
      AUTH_GRPC_DEADLINE_MS: String(CALL_DEADLINE_MS),
      METRICS_PORT: String(metricsPort)
    },
    detours: {
      async authServerGrpc(port) {
        const wire = await startTcpProxy(`http://127.0.0.1:${String(port)}`)
        wires.push(wire)
        return Number(new URL(wire.url).port)
      }
    }
  })
  const [authPlan] = plan.authServers
  const [resourcePlan] = plan.resourceServers
  const [wire] = wires
  if (authPlan === undefined || resourcePlan === undefined || wire === undefined)
    throw new Error('the plan has no instances')
  const authServer = new ServiceProcess({ service: 'auth-server', ...authPlan })
  const resourceServer = new ServiceProcess({ service: 'resource-server', ...resourcePlan })
  await Promise.all([authServer.start(), resourceServer.start()])
  const connected = await connectInRealTime(plan)
  return {
    ...connected,
    authServer,
    wire,
    holdings: () => readHoldings(metricsPort),
    output: () => [authServer, resourceServer].map(({ output }) => output).join('\n'),
    async stop() {
      connected.close()
      await Promise.all([authServer.kill(), resourceServer.kill()])
      await wire.stop()
      await Promise.all([plan.authDatabase.drop(), plan.resourceDatabase.drop()])
    }
  }
}

async function readHoldings(metricsPort: number): Promise<Holdings> {
  const { text } = await scrapeMetrics(metricsPort)
  const sum = (series: string): number =>
    text
      .split('\n')
      .filter((line) => line.startsWith(series))
      .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
  return {
    memoryMiB: Math.round(sum('process_resident_memory_bytes ') / 1_048_576),
    files: (sum('process_open_fds ') || NaN) - sum('open_payments_http_connections{'),
    requestsInFlight: sum('open_payments_http_requests_in_flight{'),
    databaseConnections: sum('open_payments_database_connections{')
  }
}
