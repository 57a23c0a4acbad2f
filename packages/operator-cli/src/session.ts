import type { Command } from 'commander'
import { CommandError } from './command-error.js'
import { findIssuer } from './find-issuer.js'
import { readKeptSignIn, signInFile } from './kept-sign-in.js'
import { OperatorClient } from './operator-client.js'
import { Printer, type Output } from './output.js'
import { findTargets, stackFileOf, type TargetSources } from './targets.js'
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
  /** Opens a page in the operator's browser, if there is one. */
  readonly openPage: (url: string) => void
}

/** The dependencies of a command. */
export interface Session {
  readonly client: OperatorClient
  readonly print: Printer
  /** Waits for the interruption of a command that would otherwise go on. */
  readonly awaitInterruption: () => AbortSignal
}

/** Options that every command takes. */
export interface GlobalOptions extends TlsFlags {
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
 * @throws CommandError (the runner) when the services are named nowhere, or may not be reached in this way, or whoever signed in no
 *   longer is
 */
export function sessionRunner(surroundings: CliSurroundings): RunSession {
  return async (command, work) => {
    const options: GlobalOptions = command.optsWithGlobals()
    const sources = { ...surroundings, flags: options }
    const token = (await readOperatorToken(sources)) ?? (await readSignedIn(sources))
    const { awaitInterruption } = surroundings
    const print = new Printer(surroundings, options.json === true)
    await connectAs(surroundings, options, token, (client) => work({ client, print, awaitInterruption }))
  }
}

/**
 * Connects to both services, and closes the connections afterwards.
 *
 * @param token ID token of the person who operates; undefined for this machine
 * @throws CommandError when the services are named nowhere, or may not be reached in this way
 */
export async function connectAs<Result>(
  surroundings: CliSurroundings,
  flags: GlobalOptions,
  token: string | undefined,
  work: (client: OperatorClient) => Promise<Result>
): Promise<Result> {
  const sources = { ...surroundings, flags }
  const targets = await findTargets(sources)
  const tls = await openOperatorTls(sources, targets)
  const client = new OperatorClient(targets, tls, token)
  try {
    return await work(client)
  } finally {
    client.close()
    await tls?.files.stop()
  }
}

/** The ID token of whoever signed in; undefined for nobody. It is not shown to services whose operators sign in elsewhere. */
async function readSignedIn(sources: TargetSources): Promise<string | undefined> {
  const file = signInFile(sources.environment)
  const kept = file === undefined ? undefined : await readKeptSignIn(file, Date.now())
  if (kept === undefined) return undefined
  await assertOperatesThere(sources, kept)
  return kept.idToken
}

/**
 * Refuses to show a token to services whose operators sign in elsewhere.
 *
 * @throws CommandError
 */
export async function assertOperatesThere(
  sources: TargetSources,
  signedIn: { readonly issuer: string; readonly clientId: string }
): Promise<void> {
  const { environment } = sources
  const expected = await findIssuer({ flags: {}, environment, stackFile: stackFileOf(sources) })
  if (expected === undefined) return
  if (expected.issuer === signedIn.issuer && expected.clientId === signedIn.clientId) return
  throw new CommandError(
    `the sign-in is at ${signedIn.issuer} for ${signedIn.clientId}, but operators sign in at ${expected.issuer} for ${expected.clientId}: ` +
      '`sign-in` there, or `sign-out` to act as this machine',
    'sign-in'
  )
}
