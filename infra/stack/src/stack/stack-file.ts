import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import { StackError } from './settings.js'

/** The wallets of the quick start. */
export const WALLETS = ['alice', 'bob', 'carol', 'shop', 'market'] as const
/** The wallets of its second provider. */
export const SECOND_WALLETS = ['dora', 'evan', 'shop', 'market'] as const

const client = z.object({ walletAddress: z.url(), keyId: z.string(), privateKeyFile: z.string() })

const provider = z.object({
  authServer: z.url(),
  resourceServer: z.url(),
  authGrpc: z.string(),
  resourceGrpc: z.string(),
  client,
  otherClient: client,
  identityProvider: z.object({ api: z.url(), secret: z.string() }),
  /** Where people sign in, and as whom, for development. `operator` operates. */
  signIn: z.object({
    issuer: z.url(),
    /** Client id with which the operator's command line signs in. */
    commandLineClientId: z.string(),
    users: z.record(z.string(), z.object({ username: z.string(), password: z.string() }))
  }),
  /** Origins of the pages of account holders, and of the console of operators. */
  web: z.object({ holder: z.url(), console: z.url() }),
  peering: z.object({ ilpEndpoint: z.url(), ilpAddress: z.string() })
})

const schema = provider.extend({
  walletAddresses: z.record(z.enum(WALLETS), z.url()),
  secondProvider: provider.extend({ walletAddresses: z.record(z.enum(SECOND_WALLETS), z.url()) }).optional()
})

/**
 * Addresses of the running stack, for programs that use it. URLs are absolute, as are paths; gRPC addresses are `host:port`, the
 * form that gRPC clients take. There is a second provider if the stack was started with two.
 */
export type StackFile = z.output<typeof schema>

/** Addresses of one provider of the stack, its wallet addresses aside. */
export type StackProvider = z.output<typeof provider>

/** A client's wallet address and the key it signs with (Ed25519, PKCS#8 PEM). */
export type StackClient = StackFile['client']

/** Writes the file atomically. It contains a secret, so only its owner can read it. */
export async function writeStackFile(file: string, stack: StackFile): Promise<void> {
  const unfinished = `${file}.${String(process.pid)}`
  await writeFile(unfinished, `${JSON.stringify(stack, null, 2)}\n`, { mode: 0o600 })
  await rename(unfinished, file)
}

/** Removes the file when the stack stops. */
export async function removeStackFile(file: string): Promise<void> {
  await rm(file, { force: true })
}

/**
 * Reads the addresses of the running stack.
 *
 * @throws StackError when there is none
 */
export async function readStackFile(file: string): Promise<StackFile> {
  try {
    return schema.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      throw new StackError('The stack is not running. Start it in another terminal: npm start')
    }
    throw new StackError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}
