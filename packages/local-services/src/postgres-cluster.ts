import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { access, chmod, chown, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { reachableHome, type PostgresBinaries } from './postgres-binaries.js'
import { settlePreviousServer } from './previous-server.js'
import { failureAs, serverEnvironment, type SystemUser } from './system-user.js'

/** A complete PostgreSQL cluster on disk. */
export interface Cluster {
  /** Contains only `data` and `password`. */
  readonly directory: string
  readonly dataDirectory: string
  /** Of the superuser `postgres`. */
  readonly password: string
}

/** The place and the user of a cluster. */
export interface ClusterOptions {
  readonly directory: string
  readonly persistent: boolean
  readonly user: SystemUser | undefined
  readonly binaries: PostgresBinaries
  readonly log?: ((line: string) => void) | undefined
}

/**
 * Makes sure that a complete cluster exists in the directory. It is created under another name and renamed when complete,
 * so an interrupted one is never mistaken for a cluster; its remains are removed.
 *
 * @throws Error with the output of initdb when it fails; when a server still runs on the cluster
 */
export async function prepareCluster(options: ClusterOptions): Promise<Cluster> {
  const { persistent, user, log } = options
  const home = await chooseHome(options)
  const directory = join(home, 'cluster')
  const dataDirectory = join(directory, 'data')
  await settlePreviousServer(dataDirectory, log)
  if (!persistent) await rm(directory, { recursive: true, force: true })
  await removeInterrupted(home)
  if (!(await exists(directory))) await initialise(home, directory, options)
  const password = (await readFile(join(directory, 'password'), 'utf8')).trim()
  if (user !== undefined) await chown(dataDirectory, user.uid, user.gid)
  return { directory, dataDirectory, password }
}

/**
 * The directory itself if PostgreSQL's user can reach it; otherwise a separate one below {@link reachableHome}, recorded in
 * a file in the directory. A directory without that record is new or was wiped, and then so is the other.
 */
async function chooseHome({ directory, user, log }: ClusterOptions): Promise<string> {
  await mkdir(directory, { recursive: true })
  if (user === undefined) return directory
  await chmod(directory, 0o711)
  if ((await failureAs(user, 'cd "$1"', [directory])) === undefined) return directory
  const name = createHash('sha256').update(directory).digest('hex').slice(0, 16)
  const home = join(reachableHome, `data-${name}`)
  const note = join(directory, 'moved-to')
  if (!(await exists(note))) {
    await settlePreviousServer(join(home, 'cluster', 'data'), log)
    await rm(home, { recursive: true, force: true })
    await writeFile(note, `${home}\n`)
  }
  await mkdir(home, { recursive: true, mode: 0o711 })
  await chmod(reachableHome, 0o755)
  const failure = await failureAs(user, 'cd "$1"', [home])
  if (failure !== undefined) throw new Error(`PostgreSQL cannot reach ${directory} nor ${home}: ${failure}`)
  log?.(`the system user postgres cannot reach ${directory}; its data is in ${home}`)
  return home
}

const interruptedName = /^initialising-(\d+)$/

async function removeInterrupted(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    const processId = Number(interruptedName.exec(name)?.[1] ?? 0)
    if (processId === 0 || (processId !== process.pid && isRunning(processId))) continue
    await rm(join(home, name), { recursive: true, force: true })
  }
}

function isRunning(processId: number): boolean {
  try {
    process.kill(processId, 0)
    return true
  } catch {
    return false
  }
}

async function initialise(home: string, directory: string, options: ClusterOptions): Promise<void> {
  const { persistent, user, binaries, log } = options
  const unfinished = join(home, `initialising-${String(process.pid)}`)
  const dataDirectory = join(unfinished, 'data')
  const passwordFile = join(unfinished, 'password')
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 })
  await chmod(unfinished, 0o711)
  await writeFile(passwordFile, `${randomBytes(18).toString('base64url')}\n`, { mode: 0o600 })
  if (user !== undefined) {
    for (const path of [dataDirectory, passwordFile]) await chown(path, user.uid, user.gid)
  }
  // The builtin locale sorts the same on every machine and needs nothing from the operating system.
  const { stdout } = await promisify(execFile)(
    join(binaries.directory, 'bin', 'initdb'),
    [
      ...[
        `--pgdata=${dataDirectory}`,
        '--username=postgres',
        `--pwfile=${passwordFile}`,
        '--auth=scram-sha-256'
      ],
      ...['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
      ...(persistent ? [] : ['--no-sync'])
    ],
    { cwd: '/', env: serverEnvironment(), ...user }
  )
  for (const line of stdout.split('\n')) if (line !== '') log?.(line)
  try {
    await rename(unfinished, directory)
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true })
    // Another process created the cluster meanwhile: use that one.
    if (!(await exists(directory))) throw error
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false
  )
}
