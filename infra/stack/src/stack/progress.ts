import pc from 'picocolors'

const NAME_WIDTH = 17
const DETAIL_WIDTH = 42

/** Prints progress: one line for each step, with its duration. */
export class Progress {
  readonly #startedAt = performance.now()
  readonly #live = process.stdout.isTTY

  /** Runs a step; its result is printed beside its name. */
  async step<Result>(
    name: string,
    work: () => Promise<Result>,
    describe: (result: Result) => string
  ): Promise<Result> {
    const startedAt = performance.now()
    if (this.#live) process.stdout.write(`  ${pc.dim('·')} ${name.padEnd(NAME_WIDTH)} ${pc.dim('…')}`)
    try {
      const result = await work()
      this.#line(pc.green('✓'), name, describe(result), startedAt)
      return result
    } catch (error) {
      this.#line(pc.red('✗'), name, '', startedAt)
      throw error
    }
  }

  /** Prints a separate line. */
  say(text = ''): void {
    process.stdout.write(text === '' ? '\n' : `  ${text}\n`)
  }

  /** Time since the start. */
  elapsed(): string {
    return seconds(this.#startedAt)
  }

  #line(mark: string, name: string, detail: string, startedAt: number): void {
    if (this.#live) process.stdout.write('\r\u001b[K')
    this.say(
      `${mark} ${name.padEnd(NAME_WIDTH)} ${detail.padEnd(DETAIL_WIDTH)} ${pc.dim(seconds(startedAt))}`
    )
  }
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`
}
