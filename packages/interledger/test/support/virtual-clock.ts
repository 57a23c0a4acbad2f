import type { SenderClock } from '../../src/index.js'

interface Timer {
  readonly atMs: number
  readonly fire: () => void
}

/** Time that passes when everybody waits: a simulation of minutes takes milliseconds. */
export class VirtualClock implements SenderClock {
  #nowMs = Date.UTC(2027, 0, 1)
  readonly #timers = new Set<Timer>()

  now(): number {
    return this.#nowMs
  }

  after(milliseconds: number, act: () => void): () => void {
    const cancel = (): void => {
      this.#timers.delete(timer)
    }
    const fire = (): void => {
      cancel()
      act()
    }
    const timer = { atMs: this.#nowMs + Math.max(0, milliseconds), fire }
    this.#timers.add(timer)
    return cancel
  }

  /** Resolves after so many milliseconds; at once when the signal aborts. */
  wait(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) {
        resolve()
        return
      }
      const cancel = this.after(milliseconds, resolve)
      signal?.addEventListener('abort', () => {
        cancel()
        resolve()
      })
    })
  }

  /** Lets time pass until a promise is settled. */
  async run<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false
    const settled = (): void => {
      isSettled = true
    }
    promise.then(settled, settled)
    for (let steps = 0; ; steps++) {
      if (steps > 100_000) throw new Error('too many steps: this goes on forever')
      await new Promise((resolve) => setImmediate(resolve))
      if (isSettled) return promise
      let next: Timer | undefined
      for (const timer of this.#timers) {
        if (next === undefined || timer.atMs < next.atMs) next = timer
      }
      if (next === undefined) throw new Error('everybody waits for something that never happens')
      this.#nowMs = Math.max(this.#nowMs, next.atMs)
      next.fire()
    }
  }
}
