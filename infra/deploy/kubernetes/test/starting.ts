import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as authServer from '@open-payments-server/auth-server'
import { authServerSchema } from '@open-payments-server/auth-server/config'
import * as resourceServer from '@open-payments-server/resource-server'
import { resourceServerSchema } from '@open-payments-server/resource-server/config'
import { describeSettings, type Environment } from '@open-payments-server/runtime/configuration'
import * as pages from '@open-payments-server/web/config'
import { refuseUnsafeStart as refuseUnsafePages } from '@open-payments-server/web/refuse-unsafe-start'

/** The program of the pages, which runs twice: once for each of its listeners. */
const PAGES = {
  settings: describeSettings(pages.webSchema),
  start(environment: Environment) {
    const config = pages.loadConfig(environment)
    refuseUnsafePages(config)
    return config
  }
}

/** The services, the pages of account holders (`web`) and the console, by name: the schema of their settings, and the settings that they refuse to start with. */
export const SERVICES = {
  'auth-server': {
    settings: describeSettings(authServerSchema),
    start(environment: Environment) {
      const config = authServer.loadConfig(environment)
      authServer.refuseUnsafeStart(config)
      return config
    }
  },
  'resource-server': {
    settings: describeSettings(resourceServerSchema),
    start(environment: Environment) {
      const config = resourceServer.loadConfig(environment)
      resourceServer.refuseUnsafeStart(config)
      return config
    }
  },
  web: PAGES,
  console: PAGES
} as const

/** The name of a service, of the pages of account holders, or of the console. */
export type ServiceName = keyof typeof SERVICES

/** Contents of the files of secrets. */
const SECRETS: Readonly<Record<string, string>> = {
  DATABASE_URL: 'postgresql://service:Vb3xQ9rTz1LkW7nM@postgres.example:5432/service?sslmode=verify-full',
  REDIS_URL: 'rediss://:kT5wPz8XcQ2vRm6J@redis.example:6379',
  IDENTITY_PROVIDER_SECRET: 'hG7tYw3KdM9sZq4B',
  SHARED_SECRET_KEY: 'nC6xRj2VfL8pWb5T',
  PEER_SECRET_KEY: 'tZ4mHq9LsX2cVy7D',
  OWNERSHIP_KEYS: 'zR6vKt3WnB8dQy5J',
  SESSION_KEY: 'pL9xGm4UsE7hTc2F',
  CLIENT_SECRET: 'bD3wNk8YvA6jRq5X',
  CONSOLE_CLIENT_SECRET: 'mS7zHf2QtC9pVg4L'
}

/**
 * Calls a function with the environment of a container, in which local files replace the mounted secrets.
 */
export function withSecretFiles<Result>(
  service: ServiceName,
  environment: Readonly<Record<string, string>>,
  use: (environment: Record<string, string>) => Result
): Result {
  const folder = mkdtempSync(join(tmpdir(), 'mounted-secrets-'))
  try {
    const replaced = { ...environment }
    for (const { name, secret } of SERVICES[service].settings) {
      if (!secret || !(`${name}_FILE` in environment)) continue
      const path = join(folder, name)
      writeFileSync(path, SECRETS[name] ?? '')
      replaced[`${name}_FILE`] = path
    }
    return use(replaced)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
