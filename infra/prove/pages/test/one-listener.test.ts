import { afterEach, describe, expect, it } from '@jest/globals'
import { findFreePort } from '@open-payments-server/local-services'
import { createLogger } from '@open-payments-server/runtime'
import { composeWeb, loadConfig, type RunningWeb } from '@open-payments-server/web'

let running: RunningWeb | undefined
afterEach(async () => {
  await running?.stop()
  running = undefined
})

/** Starts the program of the pages with these settings, and nothing behind it. */
async function start(settings: Readonly<Record<string, string>>): Promise<RunningWeb> {
  const config = loadConfig({
    ENVIRONMENT: 'development',
    ISSUER: 'http://localhost:1',
    SESSION_KEY: 'Vb3xQ9rTz1LkW7nM',
    RESOURCE_GRPC_TARGET: '127.0.0.1:1',
    AUTH_GRPC_TARGET: '127.0.0.1:1',
    ...settings
  })
  running = await composeWeb(config, { logger: createLogger({ service: 'web', level: 'silent' }) })
  return running
}

/** The statuses of these paths. */
function statusesOf(port: number | undefined, paths: readonly string[]): Promise<number[]> {
  const statusOf = async (path: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${String(port)}${path}`, { redirect: 'manual' })).status
  return Promise.all(paths.map(statusOf))
}

const HEALTH = ['/healthz', '/readyz']

describe('one process', () => {
  it('is a console alone, which says whether it is ready', async () => {
    const { httpPort, consolePort } = await start({
      CONSOLE_PORT: String(await findFreePort()),
      CONSOLE_URL: 'http://console.test',
      CONSOLE_CLIENT_ID: 'console'
    })
    expect(httpPort).toBeUndefined()
    // Nobody can sign in without an issuer.
    expect(await statusesOf(consolePort, [...HEALTH, '/payments', '/consent'])).toEqual([200, 200, 503, 404])
  })

  it('is the pages of account holders alone', async () => {
    const { httpPort, consolePort } = await start({
      HTTP_HOST: '127.0.0.1',
      HTTP_PORT: String(await findFreePort()),
      PUBLIC_URL: 'http://pages.test',
      CLIENT_ID: 'consent-page',
      AUTH_API_URL: 'http://localhost:1',
      IDENTITY_PROVIDER_SECRET: 'hJ6dPs0FyCa2GuE4'
    })
    expect(consolePort).toBeUndefined()
    expect(await statusesOf(httpPort, [...HEALTH, '/payments'])).toEqual([200, 200, 404])
  })
})
