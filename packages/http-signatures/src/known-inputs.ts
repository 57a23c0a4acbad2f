import type { CoveredInput } from './signature-base.js'

/** Longest header that is remembered, in characters. */
const HEADER_LENGTH_MAX = 512
/** Most headers that are remembered: about 10 MB. */
const KNOWN_MAX = 5_000
/** The most digits of an integer (RFC 9651 §3.3.1). */
const DIGITS_MAX = 15

const CREATED = ');created='

/** What `signature-input` says. */
export interface InputHeader extends CoveredInput {
  readonly label: string
  /** Parameters of the signature without `created`. */
  readonly parameters: ReadonlyMap<string, unknown>
  /** The parameter `created`; undefined where there is none. */
  readonly created: unknown
}

/** A header in two parts, before and after the digits of `created`. */
interface Split {
  readonly digits: string
  /** All but the digits: the same for every request that a client signs alike. */
  readonly rest: string
  readonly tail: string
}

/** What is the same in every header that differs in `created` alone. */
interface Known extends Omit<InputHeader, 'created' | 'serializedInput'> {
  /** What stands before and after the digits of `created` in the canonical form. */
  readonly serializedHead: string
  readonly serializedTail: string
}

/**
 * Headers `signature-input` that were parsed before. A client signs all its requests of a kind alike, but for the time: the
 * parameter `created`, which then stands first behind the components. What was read of the rest holds for all of them.
 */
export class KnownInputs {
  readonly #known = new Map<string, Known>()

  /** What a header says, if one was learned that differs in the digits of `created` at most. */
  find(header: string): InputHeader | undefined {
    const split = splitAtCreated(header)
    if (split === undefined) return undefined
    const known = this.#known.get(split.rest)
    if (known === undefined) return undefined
    const { label, components, parameters, serializedHead, serializedTail } = known
    const { digits } = split
    return {
      label,
      components,
      parameters,
      created: Number(digits),
      serializedInput: serializedHead + digits + serializedTail
    }
  }

  /**
   * Learns what a header says, where it may be told apart from what its `created` says: where its components are written as
   * simply as can be and its first and only `created` follows them, a header with other digits there parses to the same.
   */
  learn(header: string, input: InputHeader): void {
    const { label, components, parameters, created, serializedInput } = input
    const split = splitAtCreated(header)
    if (split === undefined || created !== Number(split.digits)) return
    const list = `(${components.map((name) => `"${name}"`).join(' ')}`
    if (!header.startsWith(`${label}=${list}${CREATED}${split.digits}`) || split.tail.includes('created'))
      return
    // They differ from one request to the next.
    if (parameters.has('nonce') || parameters.has('expires')) return
    if (this.#known.size >= KNOWN_MAX) this.#known.clear()
    const serializedHead = `${list}${CREATED}`
    const serializedTail = serializedInput.slice(serializedHead.length + split.digits.length)
    this.#known.set(split.rest, { label, components, parameters, serializedHead, serializedTail })
  }
}

/** @returns undefined for what is not remembered: without a `created` behind the components, or where it is not canonical */
function splitAtCreated(header: string): Split | undefined {
  const start = header.indexOf(CREATED) + CREATED.length
  if (start < CREATED.length || header.length > HEADER_LENGTH_MAX) return undefined
  let end = start
  while (isDigit(header.charCodeAt(end))) end += 1
  const digits = header.slice(start, end)
  if (digits.length === 0 || digits.length > DIGITS_MAX || (digits.startsWith('0') && digits !== '0')) {
    return undefined
  }
  const tail = header.slice(end)
  return { digits, rest: header.slice(0, start) + tail, tail }
}

const ZERO = 0x30
const NINE = 0x39

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE
}
