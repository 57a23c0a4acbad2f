import { readFile } from 'node:fs/promises'
import { CommandError } from './command-error.js'

/** Maximum size of a file with a token: tokens have at most 1024 characters. */
const TOKEN_FILE_BYTES_MAX = 4_096

/** A token as it is given: itself, or the file that it is in. */
export interface GivenToken {
  readonly token: string | undefined
  readonly file: string | undefined
}

/**
 * Finds a token that must be given.
 *
 * @param option without its dashes: `incoming-token`
 * @throws CommandError when it is not given in exactly one way, or its file cannot be read
 */
export async function requireToken(option: string, given: GivenToken): Promise<string> {
  const token = await readToken(option, given)
  if (token === undefined) throw new CommandError(`give either --${option} or --${option}-file`, option)
  return token
}

/**
 * Finds a token that may be given. The line break that ends a file is no part of it.
 *
 * @param option without its dashes: `outgoing-token`
 * @returns undefined when it is not given
 * @throws CommandError when it is given in both ways, or its file cannot be read
 */
export async function readToken(option: string, { token, file }: GivenToken): Promise<string | undefined> {
  if (file === undefined) return token
  if (token !== undefined)
    throw new CommandError(`give either --${option} or --${option}-file, not both`, option)
  return readTokenFile(option, file)
}

async function readTokenFile(option: string, file: string): Promise<string> {
  let bytes: Buffer
  try {
    bytes = await readFile(file)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new CommandError(`the token in ${file} cannot be read: ${reason}`, `${option}-file`)
  }
  if (bytes.length > TOKEN_FILE_BYTES_MAX)
    throw new CommandError(`${file} is too large for a token`, `${option}-file`)
  return bytes.toString('utf8').replace(/\r?\n$/, '')
}
