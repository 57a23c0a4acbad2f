import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

/** The root of the repository. */
export const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))
/** Kept from one run to the next, so that layers are. `npm run reset` deletes it. */
const FOLDER = join(ROOT, '.local', 'images')

/** Runs a program with nothing to read, and returns what it printed on standard output. Rejects with all that it printed. */
export async function run(
  program: string,
  words: readonly string[],
  options: { readonly cwd?: string } = {}
): Promise<string> {
  // An input that is open and never ends stops mmdebstrap for good.
  const child = spawn(program, words, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>
  ])
  if (code !== 0) throw new Error(`${[program, ...words].join(' ')} failed:\n${stdout}${stderr}`)
  return stdout
}

/** Where images and containers are kept, apart from those of anybody else on this machine. */
export class Storage {
  private constructor(readonly driver: 'overlay' | 'vfs') {}

  static async open(): Promise<Storage> {
    await mkdir(FOLDER, { recursive: true })
    return new Storage((await canOverlay()) ? 'overlay' : 'vfs')
  }

  /** A new folder for files of a trial, beside what is kept. */
  async makeFolder(name: string): Promise<string> {
    return mkdtemp(join(FOLDER, `${name}-`))
  }

  buildah(...words: string[]): Promise<string> {
    return run('buildah', [...this.#options, ...words])
  }

  podman(...words: string[]): Promise<string> {
    return run('podman', this.podmanCommand(...words))
  }

  /** The words after `podman` for a command. */
  podmanCommand(...words: string[]): string[] {
    return [
      ...this.#options,
      ...['--tmpdir', join(FOLDER, 'tmp'), '--cgroup-manager', 'cgroupfs', '--runtime', 'crun'],
      ...words
    ]
  }

  /** Whether an image is here. */
  has(image: string): Promise<boolean> {
    return this.podman('image', 'exists', image).then(
      () => true,
      () => false
    )
  }

  get #options(): string[] {
    const [images, runs] = [join(FOLDER, 'storage'), join(FOLDER, 'run')]
    return ['--root', images, '--runroot', runs, '--storage-driver', this.driver]
  }
}

/** Whether layers can be laid over each other here; else each is a copy of all below it, which takes time and room. */
async function canOverlay(): Promise<boolean> {
  const folder = await mkdtemp(join(FOLDER, 'overlay-'))
  const [lower, upper, work, merged] = ['lower', 'upper', 'work', 'merged'].map((name) => join(folder, name))
  try {
    for (const path of [lower, upper, work, merged]) await mkdir(String(path))
    const options = `lowerdir=${String(lower)},upperdir=${String(upper)},workdir=${String(work)}`
    await run('unshare', [
      ...['--mount', '--propagation', 'private', 'mount', '-t', 'overlay'],
      ...['overlay', '-o', options, String(merged)]
    ])
    return true
  } catch {
    return false // its kernel or its file system cannot: the other driver needs nothing
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
