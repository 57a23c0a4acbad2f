import pc from 'picocolors'

/** Members whose values are secrets, or nearly so. */
const SECRET_MEMBERS = new Set(['sharedSecret', 'interact_ref', 'nonce', 'finishCode'])
const SHOWN_OF_SECRETS = 8
const INDENT = '     '
/** Maximum length of a line of JSON, in characters; what fits is kept on one line. */
const LINE_LENGTH_MAX = 88
/** Tokens and nonces in URLs: longer than any id. */
const SECRET_IN_URL = /(?<=[/=])([A-Za-z0-9_-]{8})[A-Za-z0-9_-]{32,}/g

/** Prints what the demo does, step by step. */
export class Storyteller {
  #steps = 0

  /** Begins a step. */
  step(title: string, explanation: string): void {
    this.#steps += 1
    print('')
    print(`${pc.inverse(` ${String(this.#steps).padStart(2)} `)} ${pc.bold(title)}`)
    print(`${INDENT}${pc.dim(explanation)}`)
  }

  /** Shows a request. */
  sent(method: string, url: string, body?: unknown): void {
    print(`${INDENT}${pc.cyan('→')} ${pc.cyan(method)} ${shortenUrl(url)}`)
    if (body !== undefined) this.#json(body)
  }

  /** Shows an answer. */
  answered(status: number, body?: unknown): void {
    const paint = status < 400 ? pc.green : pc.red
    print(`${INDENT}${paint('←')} ${paint(String(status))}`)
    if (body !== undefined && body !== '') this.#json(body)
  }

  /** Prints a message within a step. */
  note(text: string): void {
    print(`${INDENT}${text}`)
  }

  #json(value: unknown): void {
    const text = typeof value === 'string' ? value : readableJson(withoutSecrets(value))
    for (const line of text.split('\n')) print(`${INDENT}  ${pc.dim(line)}`)
  }
}

/** A copy with shortened tokens and other secrets. */
export function withoutSecrets(value: unknown, member = ''): unknown {
  if (typeof value === 'string') {
    if (SECRET_MEMBERS.has(member)) return shorten(value)
    // The URL that a person opens must be complete.
    return member === 'redirect' ? value : shortenUrl(value)
  }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, member))
  return Object.fromEntries(
    Object.entries(value).map(([name, child]: [string, unknown]) => {
      // Amounts have a `value` too, which is not secret.
      const isToken = member === 'access_token' && name === 'value' && typeof child === 'string'
      return [name, isToken ? shorten(child) : withoutSecrets(child, name)]
    })
  )
}

function shorten(secret: string): string {
  return secret.length <= SHOWN_OF_SECRETS ? '…' : `${secret.slice(0, SHOWN_OF_SECRETS)}…`
}

function shortenUrl(text: string): string {
  return /^https?:/.test(text) ? text.replace(SECRET_IN_URL, '$1…') : text
}

/** JSON that keeps on one line whatever fits. */
export function readableJson(value: unknown, indent = ''): string {
  const flat = JSON.stringify(value, null, 1).replace(/\n\s*/g, ' ')
  if (typeof value !== 'object' || value === null || indent.length + flat.length <= LINE_LENGTH_MAX)
    return flat
  const inner = `${indent}  `
  const members = Array.isArray(value)
    ? value.map((item) => readableJson(item, inner))
    : Object.entries(value).map(([name, child]) => `${JSON.stringify(name)}: ${readableJson(child, inner)}`)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  return `${open}\n${members.map((line) => `${inner}${line}`).join(',\n')}\n${indent}${close}`
}

function print(line: string): void {
  process.stdout.write(`  ${line}\n`)
}
