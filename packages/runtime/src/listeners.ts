import type { Part } from './lifecycle.js'

/** A listener, for stopping it. */
export interface Listener {
  /** Announces to everyone connected that it will stop, and keeps answering. */
  announceStop(): void
  /** Accepts nothing more, lets running work finish within the grace period, and closes. */
  stop(graceMs: number): Promise<void>
}

/** How long listeners take to stop. */
export interface ListenersOptions {
  /** How long they keep answering after the announcement, in milliseconds. */
  readonly delayMs: number
  /** How long running work may take to finish after that, in milliseconds. */
  readonly graceMs: number
}

/**
 * The listeners of a service. They stop together, so that each has the whole time; one after another, they would share it.
 */
export class Listeners implements Part {
  readonly name = 'listeners'
  readonly #options: ListenersOptions
  readonly #listeners: Listener[] = []

  constructor(options: ListenersOptions) {
    this.#options = options
  }

  /** Adds a listener that was just started. */
  add(listener: Listener): void {
    this.#listeners.push(listener)
  }

  async stop(): Promise<void> {
    const { delayMs, graceMs } = this.#options
    for (const listener of this.#listeners) listener.announceStop()
    // Only then is nothing sent to a process that is known to stop.
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs))
    await Promise.all(this.#listeners.map((listener) => listener.stop(graceMs)))
  }
}
