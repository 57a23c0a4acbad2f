import { readFile } from 'node:fs/promises'
import { CommandError } from './command-error.js'

/** A signed JWT in compact form (RFC 7515 §7.1). */
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/

/**
 * Reads the ID token of the person who operates from the file that a flag, or else the environment, names.
 *
 * @returns undefined when none is named: the machine operates
 * @throws CommandError when it cannot be read, or is no token
 */
export async function readOperatorToken(sources: {
  readonly flags: { readonly tokenFile?: string | undefined }
  readonly environment: Readonly<Record<string, string | undefined>>
}): Promise<string | undefined> {
  const path = sources.flags.tokenFile ?? sources.environment.OPERATOR_TOKEN_FILE
  if (path === undefined) return undefined
  let text: string
  try {
    text = (await readFile(path, 'utf8')).trim()
  } catch (error) {
    throw new CommandError(`--token-file (OPERATOR_TOKEN_FILE): ${(error as Error).message}`, 'token-file')
  }
  if (!COMPACT.test(text))
    throw new CommandError(`--token-file (OPERATOR_TOKEN_FILE): ${path} has no ID token in it`, 'token-file')
  return text
}
