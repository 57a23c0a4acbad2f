import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import {
  type DevelopmentIssuerOptions,
  OPTIONS_VARIABLE
} from '@open-payments-server/development-issuer/options'
import type { OperatorClient } from '@open-payments-server/operator-cli'
import type { StackSecrets } from './secrets.js'
import type { ServiceOptions } from './service-process.js'
import { ROOT, type StackPaths, type StackSettings } from './settings.js'
import type { StackProvider } from './stack-file.js'

/** Client id of the pages of account holders. Only ID tokens for it prove consent. */
export const HOLDER_CLIENT = 'web-holder'
/** Client id of the console. */
export const CONSOLE_CLIENT = 'web-console'
/** Client id of the command line. */
const COMMAND_LINE_CLIENT = 'operator-cli'

/** Everything that an operator may do. */
const OPERATOR_ROLES = ['viewer', 'operator', 'approver']

/** `OPERATOR_ISSUERS` of both services: who signs in at the console or the command line acts by the roles that the issuer says. */
export function operatorIssuers({ issuerUrl }: StackSettings): string {
  const roles = Object.fromEntries(OPERATOR_ROLES.map((role) => [role, [role]]))
  const clientIds = [CONSOLE_CLIENT, COMMAND_LINE_CLIENT]
  return JSON.stringify([{ issuer: issuerUrl, clientIds, rolesClaim: 'roles', roles }])
}

/** Characters of a password that people can still type: 66 bits. */
const PASSWORD_LENGTH = 11

/** What the issuer of a provider needs to know. */
export interface IssuerSurroundings {
  readonly settings: StackSettings
  readonly paths: StackPaths
  readonly secrets: StackSecrets
  /** Names of the accounts whose holders sign in. */
  readonly holders: readonly string[]
}

/** How the issuer is run. */
export function issuer({ settings, paths, secrets, holders }: IssuerSurroundings): ServiceOptions {
  const people = [...holders, 'operator'].map((username) => ({
    username,
    password: passwordOf(secrets, username),
    sub: subjectOf(username),
    name: username.charAt(0).toUpperCase() + username.slice(1),
    ...(username === 'operator' ? { roles: OPERATOR_ROLES } : {})
  }))
  const client = (clientId: string, clientSecret: string, origin: string) => ({
    clientId,
    clientSecret,
    redirectUris: [`${origin}/signed-in`],
    postLogoutRedirectUris: [`${origin}/signed-out`],
    backchannelLogoutUri: `${origin}/signed-out-at-issuer`
  })
  const options: DevelopmentIssuerOptions = {
    port: settings.ports.issuer,
    folder: paths.issuerKeys,
    people,
    withoutPassword: true,
    clients: [
      client(HOLDER_CLIENT, secrets.webHolderSecret, settings.holderPagesUrl),
      client(CONSOLE_CLIENT, secrets.webConsoleSecret, settings.consoleUrl),
      { clientId: COMMAND_LINE_CLIENT, redirectUris: ['http://127.0.0.1/signed-in'] }
    ]
  }
  return {
    name: 'issuer',
    script: join(ROOT, 'packages', 'development-issuer', 'dist', 'main.js'),
    logFile: join(paths.logs, 'issuer.log'),
    environment: { [OPTIONS_VARIABLE]: JSON.stringify(options) }
  }
}

/** Where people sign in, and as whom. */
export function signInOf({
  settings,
  secrets,
  holders
}: Omit<IssuerSurroundings, 'paths'>): StackProvider['signIn'] {
  const users = [...holders, 'operator'].map(
    (username) => [username, { username, password: passwordOf(secrets, username) }] as const
  )
  return {
    issuer: settings.issuerUrl,
    commandLineClientId: COMMAND_LINE_CLIENT,
    users: Object.fromEntries(users)
  }
}

/** Says who holds the accounts, unless an operator said otherwise. The issuer moves with the ports of the stack. */
export async function setHolders(
  client: OperatorClient,
  { settings, holders }: Pick<IssuerSurroundings, 'settings' | 'holders'>
): Promise<void> {
  for (const name of holders) {
    const account = await client.findAccount(name)
    const holder = { issuer: settings.issuerUrl, sub: subjectOf(name) }
    if (account === undefined || account.holder?.issuer === holder.issuer) continue
    if (account.holder !== undefined && account.holder.sub !== holder.sub) continue
    await client.setAccountHolder(name, holder)
  }
}

/** Not the name with which somebody signs in, so that nobody takes one for the other. */
function subjectOf(username: string): string {
  return `${username}-of-the-quick-start`
}

function passwordOf({ passwordSeed }: StackSecrets, username: string): string {
  return createHmac('sha256', passwordSeed).update(username).digest('base64url').slice(0, PASSWORD_LENGTH)
}
