import { RpcError } from '@open-payments-server/grpc-transport'
import { Command } from 'commander'
import { parseUrl } from '../arguments.js'
import { CommandError } from '../command-error.js'
import { EVENTFUL_SERVICES, type EventfulService } from '../eventful-service.js'
import { findIssuer, type IssuerClient } from '../find-issuer.js'
import { type DeviceSignIn, type SignedIn, signInByBrowser, signInByDevice } from '../issuer.js'
import { endOf, forgetSignIn, keepSignIn, signInFile } from '../kept-sign-in.js'
import { type Fact, instantText, Printer } from '../output.js'
import { assertOperatesThere, type CliSurroundings, connectAs, type GlobalOptions } from '../session.js'
import { stackFileOf } from '../targets.js'

interface SignInFlags extends GlobalOptions {
  readonly issuer?: string
  readonly clientId?: string
  readonly scope: string
  readonly browser: boolean
  readonly device?: boolean
}

/** What a service says that somebody may do; why, where it says nothing. */
interface Roles {
  readonly service: EventfulService
  readonly roles: readonly string[] | null
  readonly problem: string | null
}

/** `sign-in` */
export function signInCommand(surroundings: CliSurroundings): Command {
  return new Command('sign-in')
    .description('sign in with a browser: the commands after this act as that person')
    .option('--issuer <url>', 'OpenID Connect issuer of operators (OPERATOR_ISSUER)', parseUrl)
    .option('--client-id <id>', 'client id of this command line there (OPERATOR_CLIENT_ID)')
    .option('--scope <scopes>', 'scopes to ask for, separated by spaces', 'openid profile')
    .option('--no-browser', 'only print where to sign in, which must be opened on this machine')
    .option('--device', 'sign in on another machine, by a code that is entered there')
    .action(async (_options: unknown, command: Command) => {
      const flags: SignInFlags = command.optsWithGlobals()
      const print = new Printer(surroundings, flags.json === true)
      const file = requireFile(surroundings)
      const issuer = await requireIssuer(surroundings, flags)
      const keep = (signedIn: SignedIn): Promise<void> => keepSignIn(file, signedIn)
      const options = { ...issuer, scope: flags.scope, keep }
      const signedIn =
        flags.device === true
          ? await signInByDevice({ ...options, show: showDevice(print) })
          : await signInByBrowser({ ...options, show: showBrowser(print, surroundings, flags) })
      printSignedIn(print, signedIn, await askRoles(surroundings, flags, signedIn))
    })
}

function showBrowser(
  print: Printer,
  { openPage }: CliSurroundings,
  { browser }: SignInFlags
): (url: string) => void {
  return (url) => {
    print.note(`Within five minutes, sign in with a browser of this machine at\n${url}`)
    if (browser) openPage(url)
  }
}

function showDevice(print: Printer): (signIn: DeviceSignIn) => void {
  return ({ url, code }) => {
    print.note(`Within five minutes, sign in at\n${url}\nand enter the code\n${code}`)
  }
}

/** `sign-out` */
export function signOutCommand(surroundings: CliSurroundings): Command {
  return new Command('sign-out')
    .description('forget who signed in: the commands after this act as this machine')
    .action(async (_options: unknown, command: Command) => {
      const { json }: GlobalOptions = command.optsWithGlobals()
      const wasSignedIn = await forgetSignIn(requireFile(surroundings))
      const sentence = wasSignedIn ? 'Signed out.' : 'Nobody was signed in.'
      new Printer(surroundings, json === true).result({ wasSignedIn }, sentence)
    })
}

function requireFile({ environment }: CliSurroundings): string {
  const file = signInFile(environment)
  if (file !== undefined) return file
  throw new CommandError(
    'there is no folder to keep a sign-in in: set HOME, XDG_CONFIG_HOME or OPERATOR_CONFIG_DIRECTORY'
  )
}

async function requireIssuer(surroundings: CliSurroundings, flags: SignInFlags): Promise<IssuerClient> {
  const sources = { ...surroundings, flags }
  const found = await findIssuer({ ...sources, stackFile: stackFileOf(sources) })
  if (found !== undefined) return found
  throw new CommandError(
    'nothing says where operators sign in: run `npm start` first, or give --issuer and --client-id (OPERATOR_ISSUER and OPERATOR_CLIENT_ID)',
    'issuer'
  )
}

/** Only the services know what a person may do: each reads its own OPERATOR_ISSUERS. */
async function askRoles(
  surroundings: CliSurroundings,
  flags: SignInFlags,
  signedIn: SignedIn
): Promise<readonly Roles[]> {
  try {
    await assertOperatesThere({ ...surroundings, flags }, signedIn)
    return await connectAs(surroundings, flags, signedIn.idToken, ({ actions }) =>
      Promise.all(
        EVENTFUL_SERVICES.map((service) =>
          actions.getOperator(service).then(
            ({ roles }) => ({ service, roles, problem: null }),
            (error: unknown) => notTold(service, error)
          )
        )
      )
    )
  } catch (error) {
    return EVENTFUL_SERVICES.map((service) => notTold(service, error))
  }
}

/** Whoever signed in is signed in, whether or not a service can be asked now. */
function notTold(service: EventfulService, error: unknown): Roles {
  if (error instanceof RpcError || error instanceof CommandError)
    return { service, roles: null, problem: error.message }
  throw error
}

function printSignedIn(print: Printer, signedIn: SignedIn, roles: readonly Roles[]): void {
  const { issuer, clientId, idToken, sub, name } = signedIn
  const endsAt = endOf(idToken)
  print.facts({ issuer, clientId, sub, name: name ?? null, endsAt, services: roles }, [
    ['Signed in as', `${sub} at ${issuer}${name === undefined ? '' : ` (${name})`}`],
    ...roles.map((each): Fact => [
      `At the ${each.service.replace('-', ' ')}`,
      each.problem ?? each.roles?.join(', ') ?? ''
    ]),
    ['Until', instantText(endsAt)]
  ])
}
