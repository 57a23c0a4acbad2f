import { readFile } from 'node:fs/promises'
import { type AuthenticatedClient, createAuthenticatedClient } from '@interledger/open-payments'
import type { StackClient } from '../stack/stack-file.js'
import type { Storyteller } from './printing.js'

type Arguments = Parameters<typeof createAuthenticatedClient>[0]
type Logger = NonNullable<Arguments['logger']>

/** The library's log entry for each request and answer at its most verbose level. */
interface Traffic {
  readonly method?: string
  readonly url?: string
  readonly body?: unknown
  readonly status?: number
}

/**
 * The official client library as one of the stack's clients, with response validation. Every request and answer is shown as the
 * library reports it.
 */
export async function createShownClient(
  client: StackClient,
  story: Storyteller
): Promise<AuthenticatedClient> {
  return createAuthenticatedClient({
    walletAddressUrl: client.walletAddress,
    privateKey: await readFile(client.privateKeyFile, 'utf8'),
    keyId: client.keyId,
    // Only for http://localhost. Everywhere else Open Payments uses https.
    useHttp: true,
    validateResponses: true,
    logger: trafficLogger(story)
  })
}

/** Replaces the library's pino logger: traffic is shown; the rest is not needed, because errors are also thrown. */
function trafficLogger(story: Storyteller): Logger {
  const ignore = (): void => undefined
  const logger = {
    level: 'debug',
    debug: ({ method, url, body, status }: Traffic, message?: string) => {
      if (message === 'Sending request') story.sent(method ?? '', url ?? '', body)
      if (message === 'Received response') story.answered(status ?? 0, body)
    },
    ...{ trace: ignore, info: ignore, warn: ignore, error: ignore, fatal: ignore, silent: ignore },
    child: () => logger
  }
  return logger as unknown as Logger
}
