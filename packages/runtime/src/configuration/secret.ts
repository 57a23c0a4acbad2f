import { inspect } from 'node:util'

/** A setting that must not be printed: it shows as `[secret]` wherever it ends up, and gives its value only when asked. */
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
