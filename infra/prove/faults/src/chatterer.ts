import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'

/** Executes commands, one word and number per line, and acknowledges each; ends with its input. */
const PROGRAM = fileURLToPath(new URL('../scripts/chatterer.mjs', import.meta.url))

/** What a log line says. */
export interface ChatteredLine {
  readonly msg: string
  /** Its number, from 0 in each batch. */
  readonly index?: number
  /** Number of lost lines. */
  readonly count?: number
}

/** A process that only logs, to a standard output that may accept nothing. */
export class Chatterer {
  readonly #child: ChildProcess
  readonly #said: AsyncIterator<string>

  /** @param standardOutput what it writes to: a file, or a pipe that is read no sooner than {@link lines} is asked for */
  constructor(standardOutput: number | 'pipe') {
    this.#child = spawn(process.execPath, [PROGRAM], { stdio: ['pipe', standardOutput, 'pipe'] })
    this.#said = createInterface({ input: this.#child.stderr as Readable })[Symbol.asyncIterator]()
  }

  /** Makes it log this many lines of a thousand characters; resolves when it has. */
  chat(count: number): Promise<void> {
    return this.#tell(`chat ${String(count)}`)
  }

  /** Makes it log a fatal line; resolves when it has. */
  despair(): Promise<void> {
    return this.#tell('despair')
  }

  /** Makes it exit at once. */
  exit(status: number): void {
    this.#write(`exit ${String(status)}`)
  }

  /** Makes it throw an uncaught error. */
  crash(): void {
    this.#write('crash')
  }

  /** Tells it to stop. */
  terminate(): void {
    this.#child.kill('SIGTERM')
  }

  /** Lets it end because it has nothing more to do. */
  finish(): void {
    this.#input.end()
  }

  /** Resolves to how it ended, when it has. */
  async ended(): Promise<{ readonly status: unknown; readonly signal: unknown }> {
    const [status, signal] = (await once(this.#child, 'exit')) as unknown[]
    return { status, signal }
  }

  /** The lines of its log as they come, through its pipe. */
  async *lines(): AsyncGenerator<ChatteredLine, void> {
    for await (const line of createInterface({ input: this.#child.stdout as Readable })) {
      yield JSON.parse(line) as ChatteredLine
    }
  }

  /** Kills it, whatever its state. */
  kill(): void {
    this.#child.kill('SIGKILL')
  }

  get #input(): Writable {
    return this.#child.stdin as Writable
  }

  #write(line: string): void {
    this.#input.write(`${line}\n`)
  }

  async #tell(line: string): Promise<void> {
    this.#write(line)
    const said: IteratorResult<string, unknown> = await this.#said.next()
    if (said.value !== 'done') throw new Error(`it was told ${line}, and said ${String(said.value)}`)
  }
}
