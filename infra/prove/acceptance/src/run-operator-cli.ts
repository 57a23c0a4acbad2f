import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { SystemPlan } from './plan-system.js'

/** The program of the command line. */
export const OPERATOR_CLI = fileURLToPath(
  new URL('../../../../packages/operator-cli/dist/main.js', import.meta.url)
)

/** What a command printed, and how it ended. */
export interface CommandOutput {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
  /** Those of the list that its one document is, or what that is about. None if it printed nothing. */
  readonly items: readonly Record<string, unknown>[]
}

/** What a command line is told by its environment: where the services are, and no home in which somebody is signed in. */
export function operatorCliEnvironment({
  authServers,
  resourceServers
}: Pick<SystemPlan, 'authServers' | 'resourceServers'>): Record<string, string | undefined> {
  return {
    PATH: process.env.PATH,
    AUTH_GRPC_TARGET: `127.0.0.1:${String(authServers[0]?.grpcPort)}`,
    WALLET_GRPC_TARGET: `127.0.0.1:${String(resourceServers[0]?.grpcPort)}`
  }
}

/**
 * Runs a command line as an operator does, with `--json`. It must print one document, or nothing.
 *
 * @param environment further settings
 */
export function runOperatorCli(
  system: Pick<SystemPlan, 'authServers' | 'resourceServers'>,
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {}
): Promise<CommandOutput> {
  const env = { ...operatorCliEnvironment(system), ...environment }
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [OPERATOR_CLI, ...words, '--json'], { env }, (error, stdout, stderr) => {
      const status = error === null ? 0 : Number(error.code)
      try {
        resolve({ status, stdout, stderr, items: itemsOf(stdout) })
      } catch {
        reject(new Error(`${words.join(' ')} printed no JSON, or more than one document: ${stdout}`))
      }
    })
  })
}

/** @throws SyntaxError when it is not one document */
function itemsOf(text: string): readonly Record<string, unknown>[] {
  if (text === '') return []
  const document = JSON.parse(text) as Record<string, unknown> | Record<string, unknown>[]
  return Array.isArray(document) ? document : [document]
}
