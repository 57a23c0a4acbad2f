import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { send } from '@open-payments-server/testing'
import type { Storage } from './storage.js'

/** What no container needs: a file system that can be written to, capabilities, and ways to get rights. */
const WITHOUT_RIGHTS = [
  ...['--read-only', '--read-only-tmpfs=false', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
  // What podman would ask for may be more than this machine gives.
  ...['--ulimit', 'nofile=16384:16384', '--ulimit', 'nproc=4096:4096']
]
/** crun refuses machines with both versions of cgroups; this hides the second. Then the words after it are run. */
const HIDE_SECOND_CGROUPS =
  'if mountpoint --quiet /sys/fs/cgroup/unified; then umount --lazy /sys/fs/cgroup/unified; fi; exec "$@"'
const READY_TIMEOUT_MS = 60_000
const POLL_MS = 50

/** How a container is run. */
export interface ContainerOptions {
  readonly image: string
  /** The words after the entrypoint. */
  readonly words?: readonly string[]
  /** A program in place of the entrypoint. */
  readonly entrypoint?: string
  readonly environment?: Readonly<Record<string, string>>
  /** Folders of this machine that it may read, where they are here. */
  readonly folders?: readonly string[]
}

/** How a container ended. */
export interface Ended {
  readonly code: number | null
  readonly output: string
}

/** A container without rights, in the network of this machine. */
export class Container {
  readonly #storage: Storage
  readonly #name = `open-payments-${randomBytes(6).toString('hex')}`
  readonly #child: ChildProcess
  /** Resolves when it has ended. */
  readonly ended: Promise<Ended>
  #output = ''

  constructor(
    storage: Storage,
    { image, words = [], entrypoint, environment = {}, folders = [] }: ContainerOptions
  ) {
    this.#storage = storage
    const command = storage.podmanCommand(
      ...['run', '--rm', '--pull', 'never', '--name', this.#name, '--network', 'host', ...WITHOUT_RIGHTS],
      ...(entrypoint === undefined ? [] : ['--entrypoint', entrypoint]),
      ...Object.entries(environment).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
      ...folders.flatMap((folder) => ['--volume', `${folder}:${folder}:ro`]),
      ...[image, ...words]
    )
    this.#child = spawn(
      'unshare',
      [
        '--mount',
        '--propagation',
        'private',
        'bash',
        '-c',
        HIDE_SECOND_CGROUPS,
        'bash',
        'podman',
        ...command
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] }
    )
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.#output += text))
    }
    this.ended = new Promise((resolve) => {
      this.#child.once('close', (code) => {
        resolve({ code, output: this.#output })
      })
    })
  }

  /** What it has printed. */
  get output(): string {
    return this.#output
  }

  /**
   * Resolves once it answers 200.
   *
   * @param outsideContract why no contract describes the answer
   */
  async whenReady(url: string, outsideContract?: { readonly reason: string }): Promise<void> {
    const deadline = Date.now() + READY_TIMEOUT_MS
    for (;;) {
      const answer = await send('GET', url, {}, undefined, outsideContract).catch(() => undefined) // It does not listen yet.
      if (answer?.status === 200) return
      if (this.#child.exitCode !== null || Date.now() > deadline) {
        throw new Error(`${url} answers ${answer === undefined ? 'nothing' : answer.text}:\n${this.#output}`)
      }
      await delay(POLL_MS)
    }
  }

  /** What the kernel says of its process, by name: `Uid`, `CapEff` and others. */
  async status(): Promise<ReadonlyMap<string, string>> {
    const text = await readFile(`/proc/${await this.#processId()}/status`, 'utf8')
    return new Map(text.split('\n').map((line) => line.split(/:\s+/, 2) as [string, string]))
  }

  /** The options with which its root is mounted. */
  async rootMount(): Promise<readonly string[]> {
    const text = await readFile(`/proc/${await this.#processId()}/mountinfo`, 'utf8')
    const root = text
      .split('\n')
      .map((line) => line.split(' '))
      .find((fields) => fields[4] === '/')
    return root?.[5]?.split(',') ?? []
  }

  /** Ends it as Kubernetes does. Resolves with how it ended, and how long that took in milliseconds. */
  async terminate(): Promise<Ended & { readonly milliseconds: number }> {
    const start = performance.now()
    await this.#storage.podman('kill', '--signal', 'TERM', this.#name)
    const ended = await this.ended
    return { ...ended, milliseconds: performance.now() - start }
  }

  /** Removes it, whether it runs or not. */
  async remove(): Promise<void> {
    await this.#storage.podman('rm', '--force', '--ignore', '--time', '0', this.#name)
    await this.ended
  }

  async #processId(): Promise<string> {
    return (await this.#storage.podman('inspect', '--format', '{{.State.Pid}}', this.#name)).trim()
  }
}

/** Runs a container until it ends. */
export function runContainer(storage: Storage, options: ContainerOptions): Promise<Ended> {
  return new Container(storage, options).ended
}
