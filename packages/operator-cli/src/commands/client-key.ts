import { randomUUID } from 'node:crypto'
import { resolve } from 'node:path'
import { Command } from 'commander'
import { parseUrl } from '../arguments.js'
import { generatePrivateKey, readPublicKey } from '../client-keys.js'
import { CommandError } from '../command-error.js'
import type { RunSession } from '../session.js'

interface AddOptions {
  readonly kid?: string
  readonly publicKey?: string
  readonly generate?: string
}

/** `client-key add|revoke` */
export function clientKeyCommand(run: RunSession): Command {
  const clientKey = new Command('client-key').description('keys that clients sign their requests with')

  clientKey
    .command('add')
    .description("add an Ed25519 key to a wallet address's JWKS")
    .argument('<wallet-address>', 'its URL', parseUrl)
    .option('--kid <id>', 'key id, unique within the wallet address; a new UUID by default')
    .option('--public-key <key>', 'file with the key as PEM or JWK, or its 43 characters of base64url')
    .option(
      '--generate <file>',
      'generate a key and write the private one to a new file (PKCS#8 PEM, mode 0600)'
    )
    .action((walletAddress: string, options: AddOptions, command: Command) =>
      run(command, async ({ client, print }) => {
        const kid = options.kid ?? randomUUID()
        const x = await publicKeyOf(options)
        await client.addClientKey(walletAddress, { kid, x })
        const privateKeyFile = options.generate === undefined ? null : resolve(options.generate)
        const written = privateKeyFile === null ? '' : ` The private key is in ${privateKeyFile}.`
        print.result(
          { walletAddress, kid, x, privateKeyFile },
          `Added the key ${kid} to ${walletAddress}.${written}`
        )
      })
    )

  clientKey
    .command('revoke')
    .description("remove a key from a wallet address's JWKS; repeating it has no effect")
    .argument('<wallet-address>', 'its URL', parseUrl)
    .argument('<kid>', 'key id')
    .action((walletAddress: string, kid: string, _options, command: Command) =>
      run(command, async ({ client, print }) => {
        await client.revokeClientKey(walletAddress, kid)
        print.result({ walletAddress, kid }, `Revoked the key ${kid} of ${walletAddress}.`)
      })
    )
  return clientKey
}

async function publicKeyOf({ publicKey, generate }: AddOptions): Promise<string> {
  if (publicKey !== undefined && generate === undefined) return readPublicKey(publicKey)
  if (publicKey === undefined && generate !== undefined) return generatePrivateKey(generate)
  throw new CommandError('give either --public-key or --generate', 'public-key')
}
