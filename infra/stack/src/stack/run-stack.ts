import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { OperatorClient } from '@open-payments-server/operator-cli'
import { describeAmount } from '@open-payments-server/value-types/amounts'
import pc from 'picocolors'
import { openDatabases } from './databases.js'
import { issuer, setHolders, signInOf } from './issuer.js'
import { type PeeredProvider, peerProviders } from './peering.js'
import { assertPortsFree } from './ports.js'
import { Progress } from './progress.js'
import { claimStack, findRunningStack, releaseStack } from './running-stack.js'
import { ensureSecrets, type StackSecrets } from './secrets.js'
import {
  FIRST_HOLDERS,
  FIRST_SEEDS,
  SECOND_HOLDERS,
  SECOND_SEEDS,
  type SeededWallets,
  seedWallets
} from './seed.js'
import { type ServiceOptions, ServiceProcess } from './service-process.js'
import { authServer, resourceServer, type ServiceSurroundings, web } from './services.js'
import {
  type Environment,
  readSecondSettings,
  readSettings,
  secondEnvironment,
  StackError,
  stackPaths,
  type StackPaths,
  type StackSettings
} from './settings.js'
import { removeStackFile, type StackFile, type StackProvider, writeStackFile } from './stack-file.js'

/** How often we check whether npm, which started us, still runs. */
const PARENT_POLL_MS = 1_000

/** The state of a provider of the stack while it starts and runs. */
interface Stack {
  readonly settings: StackSettings
  readonly paths: StackPaths
  readonly environment: Environment
  /** Accounts whose holders sign in. */
  readonly holders: readonly string[]
  readonly progress: Progress
  /** Aborted when the stack is asked to stop. */
  readonly signal: AbortSignal
  /** Cleanup steps, run at the end in reverse order. */
  readonly undo: (() => Promise<void>)[]
  /** Rejects when something ends that should keep running. */
  readonly watch: (failure: Promise<Error>) => void
}

const USAGE = `
  Usage: npm start [-- --providers 2]

    --providers 2   runs a second provider beside the first, peered with it in US dollars
`

/**
 * Runs the quick start in the foreground until it is stopped by Ctrl-C or SIGTERM, or a part of it fails.
 *
 * @param parameters of the command line
 * @returns the exit status: 0 when it was stopped, 1 when it could not go on
 */
export async function runStack(environment: Environment, parameters: readonly string[]): Promise<number> {
  // A closed terminal must not prevent an orderly stop.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  const progress = new Progress()
  const stopping = stopSignal()
  const undo: Stack['undo'] = []
  let status = 0
  try {
    const hasSecond = readProviders(parameters) === 2
    let fail: (error: Error) => void = () => undefined
    const failed = new Promise<never>((_resolve, reject) => {
      fail = reject
    })
    failed.catch(() => undefined)
    const watch: Stack['watch'] = (failure) => void failure.then(fail)
    const parts = { progress, signal: stopping, undo, watch }
    const first = {
      ...parts,
      environment,
      holders: FIRST_HOLDERS,
      settings: readSettings(environment),
      paths: stackPaths(environment)
    }
    const second = hasSecond ? secondOf(first) : undefined
    await Promise.race([failed, start(first, second)])
    await Promise.race([failed, aborted(stopping)])
  } catch (error) {
    if (!stopping.aborted) {
      status = 1
      showFailure(progress, error)
    }
  }
  await stop(progress, undo)
  return status
}

/** @throws StackError for parameters that are not known */
function readProviders(parameters: readonly string[]): 1 | 2 {
  try {
    const { values } = parseArgs({ args: [...parameters], options: { providers: { type: 'string' } } })
    if (values.providers === '2') return 2
    if (values.providers === undefined || values.providers === '1') return 1
  } catch {
    // The usage says what there is.
  }
  throw new StackError(USAGE.trim())
}

/** The second provider beside the first. */
function secondOf(first: Stack): Stack {
  const environment = secondEnvironment(first.environment)
  return {
    ...first,
    environment,
    holders: SECOND_HOLDERS,
    settings: readSecondSettings(first.environment),
    paths: stackPaths(environment)
  }
}

/** Aborted by the first signal to stop. npm and the terminal may both send one; later ones have no effect. */
function stopSignal(): AbortSignal {
  const stopping = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      stopping.abort()
    })
  }
  // A shell between npm and us may die of a signal without passing it on.
  const parent = process.ppid
  if (process.env.npm_lifecycle_event !== undefined) {
    setInterval(() => {
      if (process.ppid !== parent) stopping.abort()
    }, PARENT_POLL_MS).unref()
  }
  return stopping.signal
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

async function start(first: Stack, second: Stack | undefined): Promise<void> {
  const { progress } = first
  progress.say()
  progress.say(pc.bold('Open Payments'))
  progress.say()
  for (const one of second === undefined ? [first] : [first, second]) await claim(one)
  const secrets = await startProvider(first)
  const wallets = await seed(first, FIRST_SEEDS)
  if (second === undefined) {
    const addresses = addressesOf(first, secrets, wallets)
    await publish(first, { ...addresses, walletAddresses: wallets.walletAddresses })
    showSummary(first, [{ ...addresses, ...wallets }])
    return
  }
  progress.say()
  progress.say(pc.bold('Second provider'))
  progress.say()
  const secondSecrets = await startProvider(second)
  const secondWallets = await seed(second, SECOND_SEEDS)
  await peer({ stack: first, secrets }, { stack: second, secrets: secondSecrets })
  const addresses = addressesOf(first, secrets, wallets)
  const secondAddresses = addressesOf(second, secondSecrets, secondWallets)
  await publish(first, {
    ...addresses,
    walletAddresses: wallets.walletAddresses,
    secondProvider: { ...secondAddresses, walletAddresses: secondWallets.walletAddresses }
  })
  showSummary(first, [
    { ...addresses, ...wallets },
    { ...secondAddresses, ...secondWallets }
  ])
}

/** Starts everything of a provider. */
async function startProvider(stack: Stack): Promise<StackSecrets> {
  const { settings, paths, progress, signal, undo, environment } = stack
  const secrets = await ensureSecrets(paths.secretsFile)
  const databases = await progress.step(
    'PostgreSQL',
    () => openDatabases(settings, paths),
    ({ description }) => description
  )
  undo.push(() => databases.stop())
  stack.watch(
    databases.ended.then(() => new StackError(`PostgreSQL ended. Its log: ${paths.logs}/postgresql.log`))
  )
  signal.throwIfAborted()

  const surroundings = { settings, paths, secrets, databases, environment }
  await migrate(stack, surroundings)
  await startServices(stack, surroundings)
  signal.throwIfAborted()
  return secrets
}

/** Makes sure that nothing else uses the ports and the data. */
async function claim({ settings, paths, undo }: Stack): Promise<void> {
  const running = await findRunningStack(paths)
  if (running !== undefined) {
    throw new StackError(
      `The stack runs already, as process ${String(running)}. Stop it first, with Ctrl-C where it runs.`
    )
  }
  const { postgres, ...others } = settings.ports
  await assertPortsFree(settings.databases.kind === 'embedded' ? { ...others, postgres } : others)
  await mkdir(paths.logs, { recursive: true })
  await claimStack(paths)
  undo.push(() => releaseStack(paths))
}

async function migrate({ progress, signal, undo }: Stack, surroundings: ServiceSurroundings): Promise<void> {
  const run = async (options: ServiceOptions): Promise<void> => {
    const migration = new ServiceProcess({
      ...options,
      name: `${options.name} migrate`,
      arguments: ['migrate']
    })
    undo.push(() => migration.stop())
    await migration.completed()
  }
  const both = (): Promise<unknown> =>
    Promise.all([run(authServer(surroundings)), run(resourceServer(surroundings))])
  await progress.step(
    'databases',
    () => Promise.race([both(), untilAborted(signal)]),
    () => 'migrated'
  )
}

async function startServices(stack: Stack, surroundings: ServiceSurroundings): Promise<void> {
  const { settings, progress, signal, undo, paths, holders } = stack
  const launch = (options: ServiceOptions): ServiceProcess => {
    const service = new ServiceProcess({ ...options, append: true })
    undo.push(() => service.stop())
    stack.watch(service.ended.then(() => service.failure()))
    return service
  }
  const signIn = launch(issuer({ settings, paths, secrets: surroundings.secrets, holders }))
  const auth = launch(authServer(surroundings))
  const resource = launch(resourceServer(surroundings))
  const pages = launch(web(surroundings))
  const { identityProviderUrl, resourceServerUrl, holderPagesUrl } = settings
  await progress.step(
    'auth server',
    () => auth.ready(`${identityProviderUrl}/readyz`, signal),
    () => settings.authServerUrl
  )
  await progress.step(
    'resource server',
    () => resource.ready(`${resourceServerUrl}/readyz`, signal),
    () => resourceServerUrl
  )
  await progress.step(
    'issuer',
    () => signIn.ready(`${settings.issuerUrl}/.well-known/openid-configuration`, signal),
    () => settings.issuerUrl
  )
  await progress.step(
    'pages',
    () => pages.ready(`${holderPagesUrl}/readyz`, signal),
    () => holderPagesUrl
  )
}

async function seed<Name extends string>(
  { settings, paths, progress, holders }: Stack,
  seeds: Parameters<typeof seedWallets<Name>>[2]
): Promise<Awaited<ReturnType<typeof seedWallets<Name>>>> {
  return progress.step(
    'wallets',
    async () => {
      const client = operatorOf(settings)
      try {
        const seeded = await seedWallets<Name>(client, paths.keys, seeds)
        await setHolders(client, { settings, holders })
        return seeded
      } finally {
        client.close()
      }
    },
    (seeded) => Object.keys(seeded.walletAddresses).join(', ')
  )
}

function operatorOf({ authGrpcTarget: auth, resourceGrpcTarget: wallet }: StackSettings): OperatorClient {
  return new OperatorClient({ auth, wallet })
}

/** Makes both providers each other's peers. */
async function peer(
  first: { readonly stack: Stack; readonly secrets: StackSecrets },
  second: { readonly stack: Stack; readonly secrets: StackSecrets }
): Promise<void> {
  const providerOf = (name: string, { stack: { settings }, secrets }: typeof first): PeeredProvider => ({
    name,
    client: operatorOf(settings),
    settings,
    secrets
  })
  const providers = [providerOf('first', first), providerOf('second', second)] as const
  try {
    await first.stack.progress.step(
      'peering',
      () => peerProviders(...providers),
      () => 'in USD'
    )
  } finally {
    for (const { client } of providers) client.close()
  }
}

/** What the file of the running stack says of a provider, its wallet addresses aside. */
function addressesOf(
  { settings, holders }: Stack,
  secrets: StackSecrets,
  { shop, market }: Pick<SeededWallets<never>, 'shop' | 'market'>
): StackProvider {
  return {
    authServer: settings.authServerUrl,
    resourceServer: settings.resourceServerUrl,
    authGrpc: settings.authGrpcTarget,
    resourceGrpc: settings.resourceGrpcTarget,
    client: shop,
    otherClient: market,
    identityProvider: { api: settings.identityProviderUrl, secret: secrets.identityProviderSecret },
    signIn: signInOf({ settings, secrets, holders }),
    web: { holder: settings.holderPagesUrl, console: settings.consoleUrl },
    peering: settings.peering
  }
}

async function publish({ paths, undo }: Stack, file: StackFile): Promise<void> {
  undo.push(() => removeStackFile(paths.stackFile))
  await writeStackFile(paths.stackFile, file)
}

function showSummary(
  { progress }: Stack,
  providers: readonly (Pick<SeededWallets<string>, 'walletAddresses' | 'accounts'> &
    Pick<StackProvider, 'signIn' | 'web'>)[]
): void {
  progress.say()
  progress.say(`${pc.green(pc.bold('Ready'))} ${pc.dim(`in ${progress.elapsed()}`)}`)
  progress.say()
  progress.say(pc.bold('Wallet addresses'))
  const all = providers.flatMap(({ walletAddresses, accounts }) =>
    Object.entries(walletAddresses).map(([name, url]) => ({ name, url, account: accounts[name] }))
  )
  const width = Math.max(...all.map(({ url }) => url.length))
  for (const { name, url, account } of all) {
    const balance = account === undefined ? '' : describeAmount(account.balance)
    progress.say(`  ${name.padEnd(8)} ${pc.cyan(url.padEnd(width))}  ${balance.padStart(16)}`)
  }
  showSignIn(progress, providers)
  progress.say()
  progress.say(pc.bold('Try next') + pc.dim(', in another terminal'))
  const commands = [
    ['npm run demo', 'the shop asks, you consent as alice, bob is paid: every step shown'],
    ['npm run demo -- --yes', 'the same, with the consent given for you'],
    ...(providers.length > 1
      ? ([['npm run demo -- --across', 'dora is paid, who has her wallet at the second provider']] as const)
      : []),
    ['npm run cli -- account list', 'balances; `npm run cli -- --help` for all an operator can do'],
    ['npm run cli -- sign-in', 'act as the operator from now on, by name'],
    ['npm run cli -- audit', 'prove that no cent went missing']
  ] as const
  for (const [command, purpose] of commands)
    progress.say(`  ${pc.cyan(command.padEnd(28))} ${pc.dim(purpose)}`)
  progress.say()
  progress.say(
    pc.dim('README.md shows the first payment by hand. Data and logs are in .local (npm run reset wipes it).')
  )
  progress.say(pc.dim('Ctrl-C stops everything.'))
  progress.say()
}

/** For development, so that passwords may be shown. */
function showSignIn(progress: Progress, providers: readonly Pick<StackProvider, 'signIn' | 'web'>[]): void {
  for (const { signIn, web: pages } of providers) {
    progress.say()
    progress.say(pc.bold('Sign in') + pc.dim(', with a click or a password'))
    const placeOf = (username: string): string => (username === 'operator' ? pages.console : pages.holder)
    for (const { username, password } of Object.values(signIn.users))
      progress.say(`  ${username.padEnd(8)} ${pc.cyan(placeOf(username))}  ${password}`)
  }
}

function showFailure(progress: Progress, error: unknown): void {
  const known = error instanceof StackError
  const text = known ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error)
  progress.say()
  for (const line of text.split('\n')) process.stderr.write(`  ${known ? line : pc.dim(line)}\n`)
  progress.say()
}

async function stop(progress: Progress, undo: Stack['undo']): Promise<void> {
  if (undo.length === 0) return
  progress.say(pc.dim('Stopping …'))
  for (const undoOne of undo.reverse()) {
    try {
      await undoOne()
    } catch (error) {
      process.stderr.write(`  ${error instanceof Error ? error.message : String(error)}\n`)
    }
  }
  progress.say(`Stopped ${pc.dim('· everything is kept in .local')}`)
}

async function untilAborted(signal: AbortSignal): Promise<never> {
  await aborted(signal)
  signal.throwIfAborted()
  throw new Error('unreachable: the signal was aborted')
}
