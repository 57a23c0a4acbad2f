import { readdir } from 'node:fs/promises'
import {
  connectInRealTime,
  type ConnectedSystem,
  Inspector,
  planSystem,
  ServiceProcess
} from '@open-payments-server/acceptance'
import { findFreePort } from '@open-payments-server/local-services'
import type { TestDatabase } from '@open-payments-server/testing'

/** How much a service keeps. */
export interface Kept {
  /** Used after garbage collection. */
  readonly heapBytes: number
  /** Open files, connections included. */
  readonly files: number
}

/** Both services as processes, and what the resource server keeps. */
export interface InspectedSystem extends ConnectedSystem {
  /** Looks at what the resource server keeps. */
  kept(): Promise<Kept>
  /** The rows of each table of the resource server. */
  rows(): Promise<ReadonlyMap<string, number>>
  /** What the resource server said last: warnings, and worse. */
  output(): string
  stop(): Promise<void>
}

/** Starts the builds of both services, the resource server with an inspector. */
export async function startInspectedSystem(): Promise<InspectedSystem> {
  const plan = await planSystem({ auth: { LOG_LEVEL: 'warn' }, resource: { LOG_LEVEL: 'warn' } })
  const [authServer] = plan.authServers
  const [resourceServer] = plan.resourceServers
  if (authServer === undefined || resourceServer === undefined) throw new Error('a service is missing')
  const inspectorPort = await findFreePort()
  const auth = new ServiceProcess({ service: 'auth-server', ...authServer })
  const resource = new ServiceProcess({ service: 'resource-server', ...resourceServer, inspectorPort })
  const stopAll = async (): Promise<void> => {
    await Promise.all([auth.stop(), resource.stop()])
    await Promise.all([plan.authDatabase.drop(), plan.resourceDatabase.drop()])
  }
  try {
    await Promise.all([auth.start(), resource.start()])
    const connected = await connectInRealTime(plan)
    const inspector = await Inspector.connect(inspectorPort)
    return {
      ...connected,
      kept: async () => ({
        heapBytes: await inspector.heapAfterCollection(),
        files: (await readdir(`/proc/${String(resource.id)}/fd`)).length
      }),
      rows: () => countRows(plan.resourceDatabase),
      output: () => resource.output,
      async stop() {
        inspector.close()
        connected.close()
        await stopAll()
      }
    }
  } catch (error) {
    await stopAll()
    throw error
  }
}

async function countRows(database: TestDatabase): Promise<ReadonlyMap<string, number>> {
  const tables = await database.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`
  )
  const counted = tables.map(async ({ name }) => {
    const [row] = await database.query<{ rows: number }>(`select count(*)::int as rows from "${name}"`)
    return [name, row?.rows ?? 0] as const
  })
  return new Map(await Promise.all(counted))
}
