import { once } from 'node:events'
import { appendFile, mkdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import { OperatorClient } from '@open-payments-server/operator-cli'
import { describeAmount } from '@open-payments-server/value-types/amounts'
import pc from 'picocolors'
import { createConsentPage } from '../consent-page/app.js'
import { createIdentityProvider } from '../consent-page/identity-provider.js'
import { openDatabases } from './databases.js'
import { assertPortsFree } from './ports.js'
import { Progress } from './progress.js'
import { claimStack, findRunningStack, releaseStack } from './running-stack.js'
import { ensureSecrets, type StackSecrets } from './secrets.js'
import { type SeededWallets, seedWallets } from './seed.js'
import { type ServiceOptions, ServiceProcess } from './service-process.js'
import { authServer, resourceServer, type ServiceSurroundings } from './services.js'
import {
  type Environment,
  readSettings,
  StackError,
  stackPaths,
  type StackPaths,
  type StackSettings
} from './settings.js'
import { removeStackFile, writeStackFile } from './stack-file.js'

const LOOPBACK = '127.0.0.1'
/** How often we check whether npm, which started us, still runs. */
const PARENT_POLL_MS = 1_000

/** The state of the stack while it starts and runs. */
interface Stack {
  readonly settings: StackSettings
  readonly paths: StackPaths
  readonly progress: Progress
  /** Aborted when the stack is asked to stop. */
  readonly signal: AbortSignal
  /** Cleanup steps, run at the end in reverse order. */
  readonly undo: (() => Promise<void>)[]
  /** Rejects when something ends that should keep running. */
  readonly watch: (failure: Promise<Error>) => void
}

/**
 * Runs the quick start in the foreground until it is stopped by Ctrl-C or SIGTERM, or a part of it fails.
 *
 * @returns the exit status: 0 when it was stopped, 1 when it could not go on
 */
export async function runStack(environment: Environment): Promise<number> {
  // A closed terminal must not prevent an orderly stop.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  const progress = new Progress()
  const stopping = stopSignal()
  const undo: Stack['undo'] = []
  let status = 0
  try {
    let fail: (error: Error) => void = () => undefined
    const failed = new Promise<never>((_resolve, reject) => {
      fail = reject
    })
    failed.catch(() => undefined)
    const watch: Stack['watch'] = (failure) => void failure.then(fail)
    const stack = {
      settings: readSettings(environment),
      paths: stackPaths(environment),
      progress,
      signal: stopping,
      undo,
      watch
    }
    await Promise.race([failed, start(stack, environment)])
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

async function start(stack: Stack, environment: Environment): Promise<void> {
  const { settings, paths, progress, signal, undo } = stack
  progress.say()
  progress.say(pc.bold('Open Payments'))
  progress.say()
  await claim(stack)
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
  await progress.step(
    'consent page',
    () => startConsentPage(stack, secrets),
    () => settings.consentPageUrl
  )
  signal.throwIfAborted()
  const wallets = await progress.step(
    'wallets',
    () => seed(stack),
    (seeded) => Object.keys(seeded.walletAddresses).join(', ')
  )
  await publish(stack, secrets, wallets)
  showSummary(stack, wallets)
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
  const { settings, progress, signal, undo } = stack
  const launch = (options: ServiceOptions): ServiceProcess => {
    const service = new ServiceProcess({ ...options, append: true })
    undo.push(() => service.stop())
    stack.watch(service.ended.then(() => service.failure()))
    return service
  }
  const auth = launch(authServer(surroundings))
  const resource = launch(resourceServer(surroundings))
  const { identityProviderUrl, resourceServerUrl } = settings
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
}

async function startConsentPage({ settings, paths, undo }: Stack, secrets: StackSecrets): Promise<void> {
  const app = createConsentPage({
    identityProvider: createIdentityProvider({
      api: settings.identityProviderUrl,
      secret: secrets.identityProviderSecret
    }),
    authServer: settings.authServerUrl,
    publicUrl: settings.consentPageUrl,
    log: ({ message }) => {
      const line = `${new Date().toISOString()} ${message}\n`
      // A log that cannot be written must not end the stack.
      appendFile(`${paths.logs}/consent-page.log`, line).catch(() => process.stderr.write(line))
    }
  })
  const server = createServer(app)
  server.listen(settings.ports.consentPage, LOOPBACK)
  await once(server, 'listening')
  undo.push(async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  })
}

async function seed({ settings, paths }: Stack): Promise<SeededWallets> {
  const client = new OperatorClient({ auth: settings.authGrpcTarget, wallet: settings.resourceGrpcTarget })
  try {
    return await seedWallets(client, paths.keys)
  } finally {
    client.close()
  }
}

async function publish(
  { settings, paths, undo }: Stack,
  secrets: StackSecrets,
  wallets: SeededWallets
): Promise<void> {
  undo.push(() => removeStackFile(paths.stackFile))
  await writeStackFile(paths.stackFile, {
    authServer: settings.authServerUrl,
    resourceServer: settings.resourceServerUrl,
    authGrpc: settings.authGrpcTarget,
    resourceGrpc: settings.resourceGrpcTarget,
    walletAddresses: wallets.walletAddresses,
    client: wallets.shop,
    otherClient: wallets.market,
    identityProvider: { api: settings.identityProviderUrl, secret: secrets.identityProviderSecret },
    peering: settings.peering
  })
}

function showSummary({ progress }: Stack, wallets: SeededWallets): void {
  const { walletAddresses, accounts } = wallets
  progress.say()
  progress.say(`${pc.green(pc.bold('Ready'))} ${pc.dim(`in ${progress.elapsed()}`)}`)
  progress.say()
  progress.say(pc.bold('Wallet addresses'))
  const urls = Object.values(walletAddresses)
  const width = Math.max(...urls.map((url) => url.length))
  for (const [name, url] of Object.entries(walletAddresses)) {
    const { balance } = accounts[name as keyof typeof accounts]
    progress.say(`  ${name.padEnd(8)} ${pc.cyan(url.padEnd(width))}  ${describeAmount(balance).padStart(16)}`)
  }
  progress.say()
  progress.say(pc.bold('Try next') + pc.dim(', in another terminal'))
  const commands = [
    ['npm run demo', 'the shop asks, you consent as alice, bob is paid: every step shown'],
    ['npm run demo -- --yes', 'the same, with the consent given for you'],
    ['npm run cli -- account list', 'balances; `npm run cli -- --help` for all an operator can do'],
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
