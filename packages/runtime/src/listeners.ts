import type { Part } from './lifecycle.js'

/** A listener as it is stopped. */
export interface Listener {
  /** Tells everyone who is connected or asks that it will stop, and goes on answering. */
  announceStop(): void
  /** Takes nothing more, lets what runs finish within the grace period, and closes. */
  stop(graceMs: number): Promise<void>
}

/** How long listeners take to stop. */
export interface ListenersOptions {
  /** How long they go on after they said that they will stop, in milliseconds. */
  readonly delayMs: number
  /** How long what runs may take to finish after that, in milliseconds. */
  readonly graceMs: number
}

/** The listeners of a service. They stop together, so that each has the whole time; in their order they would share it. */
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
    // Only then is nothing sent to a process that is known to go.
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs))
    await Promise.all(this.#listeners.map((listener) => listener.stop(graceMs)))
  }
}
