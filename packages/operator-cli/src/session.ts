import type { Command } from 'commander'
import { OperatorClient } from './operator-client.js'
import { Printer, type Output } from './output.js'
import { findTargets } from './targets.js'
import { readOperatorToken } from './token.js'
import { openOperatorTls, type TlsFlags } from './tls.js'

/** The environment of a command line. */
export interface CliSurroundings extends Output {
  /** How it is called, for its help. */
  readonly name: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The file that the quick start writes while it runs. */
  readonly stackFile: string
  /** Waits for the interruption of a command that would otherwise go on. */
  readonly awaitInterruption: () => AbortSignal
}

/** The dependencies of a command. */
export interface Session {
  readonly client: OperatorClient
  readonly print: Printer
  /** Waits for the interruption of a command that would otherwise go on. */
  readonly awaitInterruption: () => AbortSignal
}

/** Options that every command takes. */
interface GlobalOptions extends TlsFlags {
  readonly json?: boolean
  readonly auth?: string
  readonly wallet?: string
  readonly tokenFile?: string
}

/** Runs a command with a connection to both services, which it closes afterwards. */
export type RunSession = (command: Command, work: (session: Session) => Promise<void>) => Promise<void>

/**
 * Creates the runner of commands.
 *
 * @throws CommandError (the runner) when the services are named nowhere, or may not be reached in this way
 */
export function sessionRunner(surroundings: CliSurroundings): RunSession {
  return async (command, work) => {
    const options: GlobalOptions = command.optsWithGlobals()
    const sources = { ...surroundings, flags: options }
    const targets = await findTargets(sources)
    const token = await readOperatorToken(sources)
    const tls = await openOperatorTls(sources, targets)
    const client = new OperatorClient(targets, tls, token)
    try {
      const { awaitInterruption } = surroundings
      await work({ client, print: new Printer(surroundings, options.json === true), awaitInterruption })
    } finally {
      client.close()
      await tls?.files.stop()
    }
  }
}
