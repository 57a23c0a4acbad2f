import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { z } from 'zod'

const SECRET_BYTES = 32

const schema = z.object({
  identityProviderSecret: z.string().min(16),
  sharedSecretKey: z.string().min(16),
  authWebhookSecretKey: z.string().min(16),
  resourceWebhookSecretKey: z.string().min(16),
  peerSecretKey: z.string().min(16),
  /** A JWK Set. */
  providerKeys: z.string(),
  /** A JWK Set of one private key with a `kid`. */
  ownershipKeys: z.string(),
  /** Of the pages of account holders, and of the console, at the issuer. */
  webHolderSecret: z.string().min(16),
  webConsoleSecret: z.string().min(16),
  /** With which the pages encrypt their cookies. */
  webSessionKey: z.string().min(16),
  /** From which the passwords of people are derived. */
  passwordSeed: z.string().min(16)
})

/** The secrets of the stack's services. */
export type StackSecrets = z.output<typeof schema>

/** The secrets of this stack: each generated once, then kept in a file that only its owner can read. */
export async function ensureSecrets(file: string): Promise<StackSecrets> {
  const kept = await readKept(file)
  const newSecret = (): string => randomBytes(SECRET_BYTES).toString('base64url')
  const generated = {
    ...Object.fromEntries(Object.keys(schema.shape).map((name) => [name, newSecret()])),
    providerKeys: newProviderKeys(),
    ownershipKeys: newOwnershipKeys()
  }
  const secrets = schema.parse({ ...generated, ...kept })
  await writeFile(file, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 })
  return secrets
}

/** A JWK Set of one Ed25519 key. */
function newProviderKeys(): string {
  const { privateKey } = generateKeyPairSync('ed25519')
  return JSON.stringify({ keys: [privateKey.export({ format: 'jwk' })] })
}

/** The same, named as the auth server needs it. */
function newOwnershipKeys(): string {
  const { privateKey } = generateKeyPairSync('ed25519')
  return JSON.stringify({
    keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'ownership-1', alg: 'EdDSA' }]
  })
}

async function readKept(file: string): Promise<object> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as object
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return {}
  }
}
