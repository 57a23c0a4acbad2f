import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { SystemPlan } from './plan-system.js'

const CLI = fileURLToPath(new URL('../../../../packages/operator-cli/dist/main.js', import.meta.url))

/** What a command printed, and how it ended. */
export interface CommandOutput {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
  /** Each document of its output. */
  readonly lines: readonly Record<string, unknown>[]
}

/** Runs a command line as an operator does, with `--json`. */
export function runOperatorCli(
  { authServers, resourceServers }: Pick<SystemPlan, 'authServers' | 'resourceServers'>,
  words: readonly string[]
): Promise<CommandOutput> {
  const env = {
    PATH: process.env.PATH,
    AUTH_GRPC_TARGET: `127.0.0.1:${String(authServers[0]?.grpcPort)}`,
    WALLET_GRPC_TARGET: `127.0.0.1:${String(resourceServers[0]?.grpcPort)}`
  }
  return new Promise((resolve) => {
    execFile(process.execPath, [CLI, ...words, '--json'], { env }, (error, stdout, stderr) => {
      const status = error === null ? 0 : Number(error.code)
      resolve({ status, stdout, stderr, lines: linesOf(stdout) })
    })
  })
}

function linesOf(text: string): Record<string, unknown>[] {
  try {
    return [JSON.parse(text) as Record<string, unknown>]
  } catch {
    return text.split('\n').flatMap((line) => {
      try {
        return [JSON.parse(line) as Record<string, unknown>]
      } catch {
        return []
      }
    })
  }
}
