import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import {
  ensurePrivateKey,
  type OperatorAccount,
  type OperatorClient
} from '@open-payments-server/operator-cli'
import { type Asset, isSameAsset } from '@open-payments-server/value-types/amounts'
import type { StackClient, WalletName } from './stack-file.js'

const USD: Asset = { code: 'USD', scale: 2 }
const EUR: Asset = { code: 'EUR', scale: 2 }

const WALLETS: Readonly<Record<WalletName, { asset: Asset; publicName: string }>> = {
  alice: { asset: USD, publicName: 'Alice' },
  bob: { asset: USD, publicName: 'Bob' },
  carol: { asset: EUR, publicName: 'Carol' },
  shop: { asset: USD, publicName: 'Shop' },
  market: { asset: USD, publicName: 'Market' }
}

/** Constant, so that alice gets her money only once, however often the stack is started. */
const DEPOSIT_ID = '01930000-0000-7000-8000-00000000a11c'
/** 1,000,000.00 USD. */
const DEPOSIT_VALUE = 100_000_000n
/** More than a quick start has wallets. */
const LIST_LIMIT = 100_000

/** The wallets of the quick start. */
export interface SeededWallets {
  readonly walletAddresses: Readonly<Record<WalletName, string>>
  readonly accounts: Readonly<Record<WalletName, OperatorAccount>>
  readonly shop: StackClient
  readonly market: StackClient
}

/** Makes sure that the wallets of the quick start exist. Does not change existing ones. */
export async function seedWallets(client: OperatorClient, keysDirectory: string): Promise<SeededWallets> {
  await createAssets(client)
  const names = Object.keys(WALLETS) as WalletName[]
  for (const name of names) {
    if ((await client.findAccount(name)) === undefined) await client.createAccount(name, WALLETS[name].asset)
  }
  await client.deposit(DEPOSIT_ID, 'alice', DEPOSIT_VALUE)
  const walletAddresses = await createWalletAddresses(client, names)
  await mkdir(keysDirectory, { recursive: true, mode: 0o700 })
  return {
    walletAddresses,
    accounts: await readAccounts(client, names),
    shop: await addKey(client, 'shop', walletAddresses.shop, keysDirectory),
    market: await addKey(client, 'market', walletAddresses.market, keysDirectory)
  }
}

async function createAssets(client: OperatorClient): Promise<void> {
  const known = await client.listAssets()
  for (const asset of [USD, EUR]) {
    if (!known.some((candidate) => isSameAsset(candidate, asset))) await client.createAsset(asset)
  }
}

async function createWalletAddresses(
  client: OperatorClient,
  names: readonly WalletName[]
): Promise<Record<WalletName, string>> {
  const { items } = await client.listWalletAddresses(LIST_LIMIT)
  const urls = await Promise.all(
    names.map(async (name) => {
      const known = items.find(({ url }) => new URL(url).pathname === `/${name}`)
      const { publicName } = WALLETS[name]
      const { url } =
        known ?? (await client.createWalletAddress({ path: `/${name}`, accountName: name, publicName }))
      return [name, url] as const
    })
  )
  return Object.fromEntries(urls) as Record<WalletName, string>
}

async function readAccounts(
  client: OperatorClient,
  names: readonly WalletName[]
): Promise<Record<WalletName, OperatorAccount>> {
  const accounts = await Promise.all(
    names.map(async (name) => [name, await client.findAccount(name)] as const)
  )
  return Object.fromEntries(accounts) as Record<WalletName, OperatorAccount>
}

async function addKey(
  client: OperatorClient,
  name: WalletName,
  walletAddress: string,
  keysDirectory: string
): Promise<StackClient> {
  const privateKeyFile = join(keysDirectory, `${name}.pem`)
  const x = await ensurePrivateKey(privateKeyFile)
  // Derived from the key: if the file is created again while the database stays, the new key gets a new id.
  const keyId = `${name}-${createHash('sha256').update(x).digest('hex').slice(0, 12)}`
  const { items } = await client.listWalletAddresses(LIST_LIMIT)
  const known = items.find(({ url }) => url === walletAddress)?.keyIds.includes(keyId) === true
  if (!known) await client.addClientKey(walletAddress, { kid: keyId, x })
  return { walletAddress, keyId, privateKeyFile }
}
