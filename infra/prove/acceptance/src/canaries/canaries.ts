import { randomBytes } from 'node:crypto'

/** An output of a service, and where it was found. */
export interface Output {
  /** Such as `log of auth-server`, `answer body of POST /quotes 201` or `database interaction.nonce`. */
  readonly place: string
  readonly text: string
}

/** A canary that was found where none may be. */
export interface Finding {
  /** What it stood for. */
  readonly canary: string
  readonly place: string
  /** The text around it. */
  readonly context: string
}

/** Where a canary may occur, and why. Both patterns must match. */
export interface Allowance {
  readonly canary: RegExp
  readonly place: RegExp
  readonly reason: string
}

/** Every canary that we make contains this mark, and nothing else does. */
const MARK = `canary${randomBytes(4).toString('hex')}`
const CONTEXT_LENGTH = 80
/** Shorter values would be found by accident. */
const WATCHED_LENGTH_MIN = 16
/** How much of a value is looked for first. */
const BEGINNING_LENGTH = 12

/** Values that must not occur: those that we make and send, and those that the services make. */
export class Canaries {
  /** What each of ours stands for; its number is its index. */
  readonly #names: string[] = []
  readonly #watched = new Map<string, string>()

  /**
   * Makes a value that can be used as a token, a name, a part of a URL, and more.
   *
   * @param name what it stands for
   */
  mint(name: string): string {
    this.#names.push(name)
    return `${MARK}x${String(this.#names.length - 1).padStart(6, '0')}`
  }

  /** Watches a secret that a service made or was given. */
  watch(name: string, value: string | null | undefined): void {
    if (value !== null && value !== undefined && value.length >= WATCHED_LENGTH_MIN)
      this.#watched.set(value, name)
  }

  /** Number of canaries. */
  get count(): number {
    return this.#names.length + this.#watched.size
  }

  /** Finds every canary in the outputs: plain, and encoded as base64, base64url, hexadecimal or percent-encoding. */
  find(outputs: readonly Output[], allowances: readonly Allowance[]): Finding[] {
    const needles = this.#needles()
    return outputs
      .flatMap((output) => [...this.#findOurs(output), ...findWatched(output, needles)])
      .filter(
        ({ canary, place }) => !allowances.some((one) => one.canary.test(canary) && one.place.test(place))
      )
  }

  /** Ours share a mark, so that one search finds all of them. */
  #findOurs(output: Output): Finding[] {
    const plain = [...output.text.matchAll(new RegExp(`${MARK}x(\\d{6})`, 'g'))].map((found) =>
      findingAt(output, this.#names[Number(found[1])] ?? 'unknown', found.index)
    )
    const encoded = encodingsOf(MARK).flatMap((needle) => {
      const index = output.text.indexOf(needle)
      return index < 0 ? [] : [findingAt(output, 'something encoded', index)]
    })
    return [...plain, ...encoded]
  }

  /** Every form of every watched value, by its first characters: there are thousands, and each text is searched in one pass. */
  #needles(): Needles {
    const needles: Needles = new Map()
    for (const [value, name] of this.#watched) {
      for (const needle of [value, ...encodingsOf(value), ...decodingsOf(value)]) {
        const beginning = needle.slice(0, BEGINNING_LENGTH)
        needles.set(beginning, [...(needles.get(beginning) ?? []), { name, needle }])
      }
    }
    return needles
  }
}

type Needles = Map<string, { readonly name: string; readonly needle: string }[]>

function findWatched(output: Output, needles: Needles): Finding[] {
  const { text } = output
  const findings: Finding[] = []
  for (let index = 0; index + BEGINNING_LENGTH <= text.length; index += 1) {
    for (const { name, needle } of needles.get(text.slice(index, index + BEGINNING_LENGTH)) ?? []) {
      if (text.startsWith(needle, index)) findings.push(findingAt(output, name, index))
    }
  }
  return findings
}

function findingAt({ place, text }: Output, canary: string, index: number): Finding {
  const context = text.slice(Math.max(0, index - CONTEXT_LENGTH), index + CONTEXT_LENGTH)
  return { canary, place, context }
}

/** A text inside a longer base64 text has one of three forms, depending on the byte it begins at. */
function encodingsOf(text: string): string[] {
  const bytes = Buffer.from(text)
  const base64 = [0, 1, 2].map((shift) => {
    const whole = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64')
    // The characters that also encode the bytes before and after are cut off.
    return whole.slice(shift === 0 ? 0 : 4).replace(/.{2}=*$/, '')
  })
  const hexadecimal = bytes.toString('hex')
  const encoded = new Set([
    ...base64,
    ...base64.map((one) => one.replaceAll('+', '-').replaceAll('/', '_')),
    hexadecimal,
    hexadecimal.toUpperCase(),
    encodeURIComponent(text)
  ])
  encoded.delete(text)
  return [...encoded]
}

/** The bytes that a base64 text encodes, as a log or a database may show them. */
function decodingsOf(text: string): string[] {
  return /^[\w+/-]+=*$/.test(text) ? [Buffer.from(text, 'base64').toString('hex')] : []
}
