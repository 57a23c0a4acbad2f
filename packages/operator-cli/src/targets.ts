import { CommandError } from './command-error.js'
import type { OperatorTargets } from './operator-client.js'
import { readStack } from './read-stack.js'

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
export async function findTargets(sources: TargetSources): Promise<OperatorTargets> {
  const { auth, wallet } = namedTargets(sources)
  if (auth !== undefined && wallet !== undefined) return { auth, wallet }
  const stack = await readStack(sources.stackFile)
  const targets = { auth: auth ?? stack?.authGrpc, wallet: wallet ?? stack?.resourceGrpc }
  if (typeof targets.auth !== 'string' || typeof targets.wallet !== 'string') {
    throw new CommandError(
      'no services to talk to: run `npm start` first, or name them with --auth and --wallet ' +
        '(AUTH_GRPC_TARGET and WALLET_GRPC_TARGET), each as host:port'
    )
  }
  return { auth: targets.auth, wallet: targets.wallet }
}

/** The quick start's file; undefined where both services are named, and may be others. */
export function stackFileOf(sources: TargetSources): string | undefined {
  const { auth, wallet } = namedTargets(sources)
  return auth !== undefined && wallet !== undefined ? undefined : sources.stackFile
}

function namedTargets({
  flags,
  environment
}: Omit<TargetSources, 'stackFile'>): Record<keyof OperatorTargets, string | undefined> {
  return {
    auth: flags.auth ?? environment.AUTH_GRPC_TARGET,
    wallet: flags.wallet ?? environment.WALLET_GRPC_TARGET
  }
}
