import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { exportJWK, generateKeyPair } from 'jose'
import { z } from 'zod'

/** With which ID tokens are signed. */
export const SIGNATURE_ALGORITHM = 'ES256'

/** How many keys are published: the one that signs, and the one before it. */
const KEYS_MAX = 2

const keySchema = z.object({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  kid: z.string(),
  alg: z.literal(SIGNATURE_ALGORITHM),
  use: z.literal('sig'),
  x: z.string(),
  y: z.string(),
  d: z.string()
})

const keysSchema = z.object({
  /** Private keys as JWKs (RFC 7517). The first signs. */
  signing: z.array(keySchema).min(1),
  /** Signs the cookies of the issuer. */
  cookie: z.string().min(32)
})

/** The keys of an issuer. */
export type IssuerKeys = z.output<typeof keysSchema>

/**
 * The keys that are kept in a folder, made at the first start. Without a folder they are new.
 *
 * @throws ZodError or SyntaxError when the file is not one of ours
 */
export async function ensureKeys(folder: string | undefined): Promise<IssuerKeys> {
  const kept = folder === undefined ? undefined : await readKeys(fileOf(folder))
  if (kept !== undefined) return kept
  const keys = { signing: [await newKey()], cookie: randomBytes(32).toString('base64url') }
  await keepKeys(folder, keys)
  return keys
}

/** Puts a new key first. The one before stays, for tokens that it has signed. */
export async function rotateKeys(folder: string | undefined, keys: IssuerKeys): Promise<IssuerKeys> {
  const rotated = { ...keys, signing: [await newKey(), ...keys.signing].slice(0, KEYS_MAX) }
  await keepKeys(folder, rotated)
  return rotated
}

async function newKey(): Promise<IssuerKeys['signing'][number]> {
  const { privateKey } = await generateKeyPair(SIGNATURE_ALGORITHM, { extractable: true })
  const kid = randomBytes(9).toString('base64url')
  return keySchema.parse({ ...(await exportJWK(privateKey)), kid, alg: SIGNATURE_ALGORITHM, use: 'sig' })
}

function fileOf(folder: string): string {
  return join(folder, 'issuer-keys.json')
}

async function readKeys(file: string): Promise<IssuerKeys | undefined> {
  try {
    return keysSchema.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Only the owner can read the file, and it is replaced as a whole. */
async function keepKeys(folder: string | undefined, keys: IssuerKeys): Promise<void> {
  if (folder === undefined) return
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const file = fileOf(folder)
  const unfinished = `${file}.${String(process.pid)}`
  await writeFile(unfinished, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600 })
  await rename(unfinished, file)
}
