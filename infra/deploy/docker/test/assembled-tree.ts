import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { chmod, mkdtemp, readdir, readFile, realpath, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { NODE_ENVIRONMENT, NODE_FLAGS } from '@open-payments-server/service-kit/node-flags'
import { send } from '@open-payments-server/testing'

const run = promisify(execFile)
const assembleScript = fileURLToPath(new URL('../scripts/assemble.mjs', import.meta.url))

/** The user of the image if this process is root, which alone can switch to it; otherwise the current user. */
const IMAGE_USER = process.getuid?.() === 0 ? { uid: 65_532, gid: 65_532 } : {}
const START_TIMEOUT_MS = 60_000
const POLL_MS = 50

/** Exit status and output of a process. */
export interface Ended {
  readonly code: number | null
  readonly output: string
}

/** The files of an image, in a read-only folder. */
export class AssembledTree {
  private constructor(readonly directory: string) {}

  /** Runs the Dockerfile's steps for a program that is already built. */
  static async assemble(program: string): Promise<AssembledTree> {
    const directory = await mkdtemp(join(await realpath(tmpdir()), `image-of-${program}-`))
    await run(process.execPath, [assembleScript, program, directory])
    await run('chmod', ['-R', 'a+rX,a-w', directory])
    return new AssembledTree(directory)
  }

  /** Paths of all files, relative to the folder. Links are not followed. */
  async files(): Promise<string[]> {
    const entries = await readdir(this.directory, { recursive: true, withFileTypes: true })
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(this.directory.length + 1))
  }

  /** Total size of all files, in bytes. */
  async size(): Promise<number> {
    const sizes = (await this.files()).map(async (path) => (await stat(join(this.directory, path))).size)
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
  }

  async read(path: string): Promise<string> {
    return readFile(join(this.directory, path), 'utf8')
  }

  /** Runs Node as the image does: as its user, with only the given environment. */
  spawn(parameters: readonly string[], environment: Readonly<Record<string, string>> = {}): ImageProcess {
    return new ImageProcess(
      spawn(process.execPath, [...NODE_FLAGS, ...parameters], {
        cwd: this.directory,
        env: { NODE_ENV: 'production', ...NODE_ENVIRONMENT, ...environment },
        stdio: ['ignore', 'pipe', 'pipe'],
        ...IMAGE_USER
      })
    )
  }

  async remove(): Promise<void> {
    await chmod(this.directory, 0o755)
    await run('chmod', ['-R', 'u+w', this.directory])
    await rm(this.directory, { recursive: true })
  }
}

/** A process that stands for a container. */
export class ImageProcess {
  readonly #child: ChildProcess
  readonly ended: Promise<Ended>
  #output = ''

  constructor(child: ChildProcess) {
    this.#child = child
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.#output += chunk.toString()))
    }
    this.ended = new Promise((resolve) => {
      child.once('close', (code) => resolve({ code, output: this.#output }))
    })
  }

  /** Resolves with the user id that it runs as; undefined if that cannot be determined. */
  async userId(): Promise<number | undefined> {
    if (process.platform !== 'linux') return undefined
    const status = await readFile(`/proc/${String(this.#child.pid)}/status`, 'utf8')
    return Number(/^Uid:\s+(\d+)/m.exec(status)?.[1])
  }

  /** Polls a probe, as Kubernetes does. Resolves with the first answer 200. */
  async answers(port: number, path: string): Promise<void> {
    const deadline = Date.now() + START_TIMEOUT_MS
    const url = `http://127.0.0.1:${String(port)}${path}`
    for (;;) {
      // Nothing listens yet.
      const answer = await send('GET', url).catch(() => undefined)
      if (answer?.status === 200) return
      if (this.#child.exitCode !== null || Date.now() > deadline) {
        throw new Error(`${path} answers ${answer === undefined ? 'nothing' : answer.text}:\n${this.#output}`)
      }
      await delay(POLL_MS)
    }
  }

  /** Ends it as Kubernetes does. */
  async terminate(): Promise<Ended> {
    this.#child.kill('SIGTERM')
    return this.ended
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}
