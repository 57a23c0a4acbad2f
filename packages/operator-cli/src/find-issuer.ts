import { CommandError } from './command-error.js'
import { readStack } from './read-stack.js'

/** A client of an OpenID Connect issuer. */
export interface IssuerClient {
  /** `iss` of the issuer's ID tokens, exactly. */
  readonly issuer: string
  readonly clientId: string
}

/** What says where operators sign in. */
export interface IssuerSources {
  /** `--issuer`, `--client-id` of `sign-in`. */
  readonly flags: { readonly issuer?: string | undefined; readonly clientId?: string | undefined }
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The file that the quick start writes while it runs; undefined where other services are meant. */
  readonly stackFile: string | undefined
}

/**
 * Finds where operators sign in: flags first, then OPERATOR_ISSUER and OPERATOR_CLIENT_ID, then the quick start's stack.
 *
 * @returns undefined when that is said nowhere
 * @throws CommandError when only half of it is said, or the issuer is no URL that may be used
 */
export async function findIssuer(sources: IssuerSources): Promise<IssuerClient | undefined> {
  const { flags, environment, stackFile } = sources
  const issuer = flags.issuer ?? environment.OPERATOR_ISSUER
  const clientId = flags.clientId ?? environment.OPERATOR_CLIENT_ID
  if (issuer !== undefined && clientId !== undefined) return { issuer: checked(issuer), clientId }
  if (issuer !== undefined || clientId !== undefined) {
    throw new CommandError(
      `where operators sign in is said by halves: give ${issuer === undefined ? '--issuer (OPERATOR_ISSUER)' : '--client-id (OPERATOR_CLIENT_ID)'} too`,
      issuer === undefined ? 'issuer' : 'client-id'
    )
  }
  const signIn = stackFile === undefined ? undefined : (await readStack(stackFile))?.signIn
  if (typeof signIn !== 'object' || signIn === null) return undefined
  const { issuer: found, commandLineClientId } = signIn as Readonly<Record<string, unknown>>
  if (typeof found !== 'string' || typeof commandLineClientId !== 'string') return undefined
  return { issuer: checked(found), clientId: commandLineClientId }
}

/** Codes and tokens do not leave this machine in plain text. */
function checked(issuer: string): string {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined
  const isLocal = url?.protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
  if (url?.protocol === 'https:' || isLocal) return issuer
  throw new CommandError(
    '--issuer (OPERATOR_ISSUER) must be an https URL; http only on this machine',
    'issuer'
  )
}
