import { readFile } from 'node:fs/promises'
import { CommandError } from './command-error.js'
import type { OperatorTargets } from './operator-client.js'

/** The given addresses of the services. */
export interface TargetSources {
  /** `--auth`, `--wallet`. */
  readonly flags: { readonly auth?: string | undefined; readonly wallet?: string | undefined }
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The file that the quick start writes while it runs. */
  readonly stackFile: string
}

/**
 * Finds both services: flags first, then `AUTH_GRPC_TARGET` and `WALLET_GRPC_TARGET`, then the quick start's stack.
 *
 * @throws CommandError when one of them is named nowhere
 */
export async function findTargets({
  flags,
  environment,
  stackFile
}: TargetSources): Promise<OperatorTargets> {
  const auth = flags.auth ?? environment.AUTH_GRPC_TARGET
  const wallet = flags.wallet ?? environment.WALLET_GRPC_TARGET
  if (auth !== undefined && wallet !== undefined) return { auth, wallet }
  const stack = await readStack(stackFile)
  const targets = { auth: auth ?? stack?.authGrpc, wallet: wallet ?? stack?.resourceGrpc }
  if (typeof targets.auth !== 'string' || typeof targets.wallet !== 'string') {
    throw new CommandError(
      'no services to talk to: run `npm start` first, or name them with --auth and --wallet ' +
        '(AUTH_GRPC_TARGET and WALLET_GRPC_TARGET), each as host:port'
    )
  }
  return { auth: targets.auth, wallet: targets.wallet }
}

async function readStack(file: string): Promise<{ authGrpc?: unknown; resourceGrpc?: unknown } | undefined> {
  try {
    const stack: unknown = JSON.parse(await readFile(file, 'utf8'))
    return typeof stack === 'object' && stack !== null ? stack : undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new CommandError(
      `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`
    )
  }
}
