// Makes a fresh clone runnable with nothing but Node and npm: installs the dependencies and builds, where needed.
// Plain JavaScript without dependencies, because it runs before there are any.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const nodeModules = join(root, 'node_modules')
const installStamp = join(nodeModules, '.open-payments-server-stamp')
const buildScript = join(root, 'infra', 'stack', 'scripts', 'build.mjs')
const oldestNode = [20, 19]
const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/**
 * Installs what the lock file names unless that is done already, and builds when sources changed.
 * Says what it does; on failure shows what the failing command said and ends the process with code 1.
 *
 * @param {{ build: 'stack' | 'everything' }} options what to build: what the stack runs, or tests and tools, too
 */
export async function prepare({ build }) {
  refuseOldNode()
  try {
    await installIfNeeded()
    await buildIfNeeded(build)
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
    // Development dependencies too, whatever NODE_ENV is: the build needs them. A clean install must not ask for confirmation.
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

async function buildIfNeeded(what) {
  const packages = foldersToBuild(what)
  const sources = sourceFingerprint(packages)
  if (packages.every(isBuilt) && readIfThere(buildStamp(what)) === sources) return
  await showing('Building the services', async () => {
    // What is built of the stack now may be newer than the rest.
    rmSync(buildStamp('everything'), { force: true })
    await pnpm(['exec', 'turbo', 'run', 'generate', '--cache=local:rw', '--output-logs=errors-only'])
    await run(process.execPath, [buildScript, what])
  })
  writeFileSync(buildStamp(what), sources)
  if (what === 'everything') writeFileSync(buildStamp('stack'), sourceFingerprint(foldersToBuild('stack')))
}

function buildStamp(what) {
  return join(nodeModules, `.open-payments-server-build-${what}`)
}

/**
 * Folders of the packages with sources that are built for something.
 *
 * @param {string} what the name of a package, for it and all that it runs with, such as `stack`; or `everything`
 * @throws Error when there is no such package
 */
export function foldersToBuild(what) {
  const packages = new Map(workspacePackages().map((each) => [each.name, each]))
  const needed = new Set()
  const need = (name) => {
    const found = packages.get(name) // not those of the registry
    if (found === undefined || needed.has(found)) return
    needed.add(found)
    found.dependencies.forEach(need)
  }
  if (what === 'everything') packages.forEach((_package, name) => need(name))
  else need(`@open-payments-server/${what}`)
  if (needed.size === 0) throw new Error(`there is no package ${what}`)
  return [...needed].map(({ folder }) => folder).filter((folder) => existsSync(join(folder, 'src')))
}

/** The packages in the folders that pnpm-workspace.yaml lists. */
function workspacePackages() {
  return ['services', 'packages', 'infra/deploy', 'infra/prove']
    .flatMap((folder) => readdirSync(join(root, folder)).map((name) => join(root, folder, name)))
    .concat(join(root, 'infra', 'stack'), join(root, 'proto'))
    .filter((folder) => existsSync(join(folder, 'package.json')))
    .map((folder) => {
      const { name, dependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
      return { name, folder, dependencies: Object.keys(dependencies) }
    })
}

function isBuilt(folder) {
  const generates = readFileSync(join(folder, 'package.json'), 'utf8').includes('"generate":')
  return existsSync(join(folder, 'dist')) && (!generates || existsSync(join(folder, 'src', 'generated')))
}

/** Changes whenever a file that a build may read was changed, added, moved or removed. Reads no contents, to be fast. */
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
  return run('npx', ['--yes', packageManager, ...parameters])
}

function run(program, parameters) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, parameters, {
      cwd: root,
      env: {
        ...process.env,
        TURBO_TELEMETRY_DISABLED: '1',
        DO_NOT_TRACK: '1',
        TURBO_NO_UPDATE_NOTIFIER: '1'
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32' && program === 'npx'
    })
    const chunks = []
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => chunks.push(chunk))
    const fail = (reason) => {
      const command = [program, ...parameters].join(' ')
      reject(new CommandFailed(`\`${command}\` ${reason}.`, Buffer.concat(chunks).toString()))
    }
    child.once('error', (error) => fail(`cannot be run: ${error.message}`))
    child.once('close', (code, signal) => {
      if (code === 0) resolve()
      else fail(signal ? `was ended by ${signal}` : `failed with code ${code}`)
    })
  })
}

/** Prints a step while it runs, with a running time on a terminal, and then its duration. */
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
