import { randomUUID } from 'node:crypto'
import type { Stats } from 'node:fs'
import { type FileHandle, mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import { z } from 'zod'
import { CommandError } from './command-error.js'
import type { IssuerClient } from './find-issuer.js'

/** Somebody who signed in, as it is kept between commands. */
export interface KeptSignIn extends IssuerClient {
  /** A signed JWT in compact form. Whoever has it acts as this person. */
  readonly idToken: string
}

const FOLDER_MODE = 0o700
const FILE_MODE = 0o600
/** What others than the owner of a file may not have. */
const OTHERS = 0o077
/** More than an ID token has. */
const FILE_BYTES_MAX = 65_536
const FIELD = 'sign-in'

const keptSchema = z.strictObject({ issuer: z.string(), clientId: z.string(), idToken: z.string() })
const claimsSchema = z.object({
  iss: z.string(),
  aud: z.union([z.string(), z.array(z.string())]),
  exp: z.number()
})

/**
 * The file that a sign-in is kept in: in OPERATOR_CONFIG_DIRECTORY, or else in `open-payments` of the folder that the XDG Base Directory
 * Specification names.
 *
 * @returns undefined when the environment names no folder: nothing is kept then
 */
export function signInFile(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  const { OPERATOR_CONFIG_DIRECTORY: own, XDG_CONFIG_HOME: xdg, HOME: home } = environment
  const base = given(xdg) ?? (given(home) === undefined ? undefined : join(home ?? '', '.config'))
  const folder = given(own) ?? (base === undefined ? undefined : join(base, 'open-payments'))
  return folder === undefined ? undefined : join(folder, 'sign-in.json')
}

/** Settings that are empty are not set. */
function given(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}

/**
 * Keeps who signed in, in the place of whoever signed in before. The file is replaced as a whole, and only its owner can read it.
 *
 * @throws CommandError when it cannot be written, or others can read its folder
 */
export async function keepSignIn(file: string, kept: KeptSignIn): Promise<void> {
  const folder = join(file, '..')
  const unfinished = `${file}.${randomUUID()}`
  try {
    await mkdir(folder, { recursive: true, mode: FOLDER_MODE })
    assertOwnersAlone(await stat(folder), folder, 'chmod 700')
    const { issuer, clientId, idToken } = kept
    const text = `${JSON.stringify({ issuer, clientId, idToken })}\n`
    await writeFile(unfinished, text, { mode: FILE_MODE, flag: 'wx' })
    await rename(unfinished, file)
  } catch (error) {
    await rm(unfinished, { force: true })
    throw error instanceof CommandError ? error : cannot('kept', file, error)
  }
}

/**
 * Reads who signed in.
 *
 * @param nowMs milliseconds since 1970
 * @returns undefined for nobody
 * @throws CommandError when others can read the file, it is none of ours, or the sign-in has ended
 */
export async function readKeptSignIn(file: string, nowMs: number): Promise<KeptSignIn | undefined> {
  const text = await readAlone(file)
  if (text === undefined) return undefined
  const kept = parse(text)
  if (kept === undefined)
    throw new CommandError(`${file} is damaged: \`sign-in\` again, or \`sign-out\``, FIELD)
  const endsAt = endOf(kept.idToken)
  if (endsAt.getTime() <= nowMs) {
    throw new CommandError(
      `the sign-in at ${kept.issuer} ended at ${endsAt.toISOString()}: \`sign-in\` again, or \`sign-out\` to act as this machine`,
      FIELD
    )
  }
  return kept
}

/**
 * Forgets who signed in.
 *
 * @returns whether there was anybody
 * @throws CommandError when the file cannot be removed
 */
export async function forgetSignIn(file: string): Promise<boolean> {
  try {
    await rm(file)
    return true
  } catch (error) {
    if (isMissing(error)) return false
    throw cannot('removed', file, error)
  }
}

/** When an ID token ends. */
export function endOf(idToken: string): Date {
  return new Date(claimsSchema.parse(decodeJwt(idToken)).exp * 1_000)
}

/** Who could read the file is asked of what is open, and not of what is at its path a moment later. */
async function readAlone(file: string): Promise<string | undefined> {
  let handle: FileHandle | undefined
  try {
    handle = await open(file)
    const stats = await handle.stat()
    assertOwnersAlone(stats, file, 'chmod 600')
    return stats.size > FILE_BYTES_MAX ? '' : await handle.readFile('utf8')
  } catch (error) {
    if (error instanceof CommandError) throw error
    if (isMissing(error)) return undefined
    throw cannot('read', file, error)
  } finally {
    await handle?.close()
  }
}

function assertOwnersAlone({ mode }: Stats, path: string, remedy: string): void {
  if ((mode & OTHERS) === 0) return
  throw new CommandError(
    `${path} can be read by others (mode ${(mode & 0o777).toString(8)}), and is not used: ${remedy} '${path}'`,
    FIELD
  )
}

/** What is kept, if its token is of the issuer and client that it was kept for. */
function parse(text: string): KeptSignIn | undefined {
  try {
    const kept = keptSchema.parse(JSON.parse(text))
    const { iss, aud, exp } = claimsSchema.parse(decodeJwt(kept.idToken))
    const isOfClient = iss === kept.issuer && [aud].flat().includes(kept.clientId)
    return isOfClient && !Number.isNaN(new Date(exp * 1_000).getTime()) ? kept : undefined
  } catch {
    // Whatever is wrong with it: the words of the error could contain a part of it.
    return undefined
  }
}

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ENOTDIR'
}

function cannot(what: string, file: string, error: unknown): CommandError {
  return new CommandError(`the sign-in in ${file} cannot be ${what}: ${(error as Error).message}`, FIELD)
}
