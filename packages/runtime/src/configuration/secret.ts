import { inspect } from 'node:util'

/** A setting that must not be printed: it shows as `[secret]` everywhere, and returns its value only on request. */
export class Secret<Value = string> {
  readonly #value: Value

  constructor(value: Value) {
    this.#value = value
  }

  /** The value itself. */
  reveal(): Value {
    return this.#value
  }

  toString(): string {
    return '[secret]'
  }

  toJSON(): string {
    return '[secret]'
  }

  [inspect.custom](): string {
    return '[secret]'
  }
}
