import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { createDatabaseIfMissing } from '@open-payments-server/database'
import { startPostgres } from '@open-payments-server/local-services'
import type { DatabaseNames, StackPaths, StackSettings } from './settings.js'

/** The databases of both services. */
export interface Databases {
  readonly authUrl: string
  readonly resourceUrl: string
  /** Their location, for people; without a password. */
  readonly description: string
  /** Resolves when the embedded server has ended; never for an external server. */
  readonly ended: Promise<unknown>
  stop(): Promise<void>
}

const EMBEDDED_NAMES: DatabaseNames = { auth: 'auth', wallet: 'wallet' }

/** Starts the embedded PostgreSQL, or uses the server in the settings, and makes sure that both databases exist. */
export async function openDatabases(
  { databases, ports }: StackSettings,
  paths: StackPaths
): Promise<Databases> {
  const foreign = { ended: new Promise<never>(() => undefined), stop: () => Promise.resolve() }
  if (databases.kind === 'databases') {
    return {
      authUrl: databases.auth,
      resourceUrl: databases.resource,
      description: 'as configured',
      ...foreign
    }
  }
  if (databases.kind === 'server') {
    return {
      ...(await createBoth(databases.url, databases.names)),
      description: `on ${new URL(databases.url).host}`,
      ...foreign
    }
  }
  const log = createWriteStream(join(paths.logs, 'postgresql.log'))
  const server = await startPostgres({
    directory: paths.postgres,
    port: ports.postgres,
    persistent: true,
    log: (line) => log.write(`${line}\n`)
  })
  const stop = async (): Promise<void> => {
    await server.stop()
    log.end()
  }
  try {
    const description = `embedded, port ${String(ports.postgres)}`
    return { ...(await createBoth(server.url, EMBEDDED_NAMES)), description, ended: server.ended, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function createBoth(
  adminUrl: string,
  { auth, wallet }: DatabaseNames
): Promise<{ authUrl: string; resourceUrl: string }> {
  for (const name of [auth, wallet]) await createDatabaseIfMissing({ adminUrl, name })
  const urlOf = (name: string): string => {
    const url = new URL(adminUrl)
    url.pathname = `/${name}`
    return url.href
  }
  return { authUrl: urlOf(auth), resourceUrl: urlOf(wallet) }
}
