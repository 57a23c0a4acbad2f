// Makes a fresh clone runnable with nothing but Node and npm: installs the dependencies and builds, where needed.
// Plain JavaScript without dependencies, because it runs before there are any.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const nodeModules = join(root, 'node_modules')
const installStamp = join(nodeModules, '.open-payments-server-stamp')
const buildStamp = join(nodeModules, '.open-payments-server-build')
const oldestNode = [20, 19]
const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/**
 * Installs what the lock file names unless that is done already, and builds every package when sources changed.
 * Says what it does; on failure shows what the failing command said and ends the process with code 1.
 *
 * @param {{ build: boolean }} options whether to build, too
 */
export async function prepare({ build }) {
  refuseOldNode()
  try {
    await installIfNeeded()
    if (build) await buildIfNeeded()
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error
    console.error(`\n${error.output.trimEnd()}\n\n  ${error.message}`)
    process.exit(1)
  }
}

class CommandFailed extends Error {
  constructor(message, output) {
    super(message)
    this.output = output
  }
}

function refuseOldNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1])) return
  console.error(`  Node ${oldestNode.join('.')} or newer is needed; this is ${process.versions.node}.`)
  process.exit(1)
}

async function installIfNeeded() {
  const stamp = installFingerprint()
  if (readIfThere(installStamp) === stamp) return
  await showing('Installing the dependencies', () =>
    // Development dependencies too, whatever NODE_ENV says: they build. Nobody is there to confirm a clean install.
    pnpm(['install', '--frozen-lockfile', '--prod=false', '--config.confirm-modules-purge=false'])
  )
  writeFileSync(installStamp, stamp)
}

function installFingerprint() {
  const hash = createHash('sha256')
  for (const name of ['pnpm-lock.yaml', 'pnpm-workspace.yaml']) hash.update(readFileSync(join(root, name)))
  const runtime = [process.platform, process.arch, process.versions.modules].join(' ')
  return hash.update(runtime).digest('hex')
}

async function buildIfNeeded() {
  const packages = workspaceFolders().filter((folder) => existsSync(join(folder, 'src')))
  const sources = sourceFingerprint(packages)
  if (packages.every(isBuilt) && readIfThere(buildStamp) === sources) return
  await showing('Building the services', () =>
    pnpm(['exec', 'turbo', 'run', 'build', '--cache=local:rw', '--output-logs=errors-only'])
  )
  writeFileSync(buildStamp, sources)
}

/** Folders of the packages, as pnpm-workspace.yaml lists them. */
export function workspaceFolders() {
  return ['services', 'packages', 'infra/deploy', 'infra/prove']
    .flatMap((folder) => readdirSync(join(root, folder)).map((name) => join(root, folder, name)))
    .concat(join(root, 'infra', 'stack'), join(root, 'proto'))
}

function isBuilt(folder) {
  const generates = readFileSync(join(folder, 'package.json'), 'utf8').includes('"generate":')
  return existsSync(join(folder, 'dist')) && (!generates || existsSync(join(folder, 'src', 'generated')))
}

/** Changes whenever a file that a build may read was changed, added, moved or removed. Reads no contents: it is quick. */
function sourceFingerprint(packages) {
  const hash = createHash('sha256').update(installFingerprint())
  for (const path of ['package.json', 'turbo.json']) hash.update(signatureOf(join(root, path)))
  for (const folder of packages) addFolder(folder, hash)
  return hash.digest('hex')
}

const notSources = new Set(['node_modules', 'dist', 'generated', 'test', '.turbo', '.local', 'README.md'])

function addFolder(folder, hash) {
  for (const entry of readdirSync(folder, { withFileTypes: true }).sort((a, b) =>
    a.name < b.name ? -1 : 1
  )) {
    if (notSources.has(entry.name) || entry.name.endsWith('.test.ts')) continue
    const path = join(folder, entry.name)
    if (entry.isDirectory()) addFolder(path, hash)
    else hash.update(signatureOf(path))
  }
}

function signatureOf(path) {
  const { size, mtimeMs } = statSync(path)
  return `${path}\0${size}\0${mtimeMs}\0`
}

function readIfThere(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

/** Runs the pnpm version of package.json through npx, so that it need not be installed. */
function pnpm(parameters) {
  return new Promise((resolve, reject) => {
    const child = spawn('npx', ['--yes', packageManager, ...parameters], {
      cwd: root,
      env: {
        ...process.env,
        TURBO_TELEMETRY_DISABLED: '1',
        DO_NOT_TRACK: '1',
        TURBO_NO_UPDATE_NOTIFIER: '1'
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32'
    })
    const chunks = []
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => chunks.push(chunk))
    const fail = (reason) => {
      const command = ['npx', packageManager, ...parameters].join(' ')
      reject(new CommandFailed(`\`${command}\` ${reason}.`, Buffer.concat(chunks).toString()))
    }
    child.once('error', (error) => fail(`cannot be run: ${error.message}`))
    child.once('close', (code, signal) => {
      if (code === 0) resolve()
      else fail(signal ? `was ended by ${signal}` : `failed with code ${code}`)
    })
  })
}

/** Names a step while it runs, with the seconds passing on a terminal, and how long it took. */
async function showing(what, step) {
  const start = Date.now()
  const seconds = () => `${Math.round((Date.now() - start) / 1000)} s`
  const live = process.stdout.isTTY
  const show = () => process.stdout.write(`\r  ${what} … ${seconds()}`)
  if (!live) console.log(`  ${what} …`)
  const timer = live ? setInterval(show, 1000) : undefined
  if (live) show()
  try {
    await step()
    if (live) process.stdout.write('\r\x1b[K')
    console.log(`  ${what}: done in ${seconds()}`)
  } catch (error) {
    if (live) process.stdout.write('\r\x1b[K')
    console.log(`  ${what}: failed after ${seconds()}`)
    throw error
  } finally {
    clearInterval(timer)
  }
}
