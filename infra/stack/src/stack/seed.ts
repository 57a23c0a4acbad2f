import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import {
  ensurePrivateKey,
  type OperatorAccount,
  type OperatorClient
} from '@open-payments-server/operator-cli'
import { type Asset, isSameAsset } from '@open-payments-server/value-types/amounts'
import type { SECOND_WALLETS, StackClient, WALLETS } from './stack-file.js'

const USD: Asset = { code: 'USD', scale: 2 }
const EUR: Asset = { code: 'EUR', scale: 2 }

/** A wallet to be seeded. */
interface Seed {
  readonly asset: Asset
  readonly publicName: string
  /** Id of its deposit: constant, so that it gets its money only once, however often the stack is started. */
  readonly depositId?: string
}

/** The wallets of the two clients, which every provider has. */
const CLIENTS = {
  shop: { asset: USD, publicName: 'Shop' },
  market: { asset: USD, publicName: 'Market' }
} satisfies Record<string, Seed>

/** The wallets of the quick start. */
export const FIRST_SEEDS: Readonly<Record<(typeof WALLETS)[number], Seed>> = {
  alice: { asset: USD, publicName: 'Alice', depositId: '01930000-0000-7000-8000-00000000a11c' },
  bob: { asset: USD, publicName: 'Bob' },
  carol: { asset: EUR, publicName: 'Carol' },
  ...CLIENTS
}

/** The wallets of its second provider. */
export const SECOND_SEEDS: Readonly<Record<(typeof SECOND_WALLETS)[number], Seed>> = {
  dora: { asset: EUR, publicName: 'Dora', depositId: '01930000-0000-7000-8000-0000000000d0' },
  evan: { asset: USD, publicName: 'Evan', depositId: '01930000-0000-7000-8000-0000000000e0' },
  ...CLIENTS
}

/** Whose wallets these are: people, who sign in. */
export const FIRST_HOLDERS = ['alice', 'bob', 'carol'] as const
/** The same at the second provider. */
export const SECOND_HOLDERS = ['dora', 'evan'] as const

/** 1,000,000.00 of an asset. */
const DEPOSIT_VALUE = 100_000_000n
/** More than a quick start has wallets. */
const LIST_LIMIT = 100_000

/** The wallets of a provider. */
export interface SeededWallets<Name extends string> {
  readonly walletAddresses: Readonly<Record<Name, string>>
  readonly accounts: Readonly<Record<Name, OperatorAccount>>
  readonly shop: StackClient
  readonly market: StackClient
}

/** Makes sure that wallets exist. Does not change existing ones. */
export async function seedWallets<Name extends string>(
  client: OperatorClient,
  keysDirectory: string,
  seeds: Readonly<Record<Name | keyof typeof CLIENTS, Seed>>
): Promise<SeededWallets<Name | keyof typeof CLIENTS>> {
  await createAssets(client)
  const named = Object.entries(seeds) as [Name | keyof typeof CLIENTS, Seed][]
  for (const [name, { asset, depositId }] of named) {
    if ((await client.findAccount(name)) === undefined) await client.createAccount(name, asset)
    if (depositId !== undefined) await client.deposit(depositId, name, DEPOSIT_VALUE)
  }
  const walletAddresses = await createWalletAddresses(client, named)
  await mkdir(keysDirectory, { recursive: true, mode: 0o700 })
  return {
    walletAddresses,
    accounts: await readAccounts(
      client,
      named.map(([name]) => name)
    ),
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

async function createWalletAddresses<Name extends string>(
  client: OperatorClient,
  seeds: readonly [Name, Seed][]
): Promise<Record<Name, string>> {
  const { items } = await client.listWalletAddresses(LIST_LIMIT)
  const urls = await Promise.all(
    seeds.map(async ([name, { publicName }]) => {
      const known = items.find(({ url }) => new URL(url).pathname === `/${name}`)
      const { url } =
        known ?? (await client.createWalletAddress({ path: `/${name}`, accountName: name, publicName }))
      return [name, url] as const
    })
  )
  return Object.fromEntries(urls) as Record<Name, string>
}

async function readAccounts<Name extends string>(
  client: OperatorClient,
  names: readonly Name[]
): Promise<Record<Name, OperatorAccount>> {
  const accounts = await Promise.all(
    names.map(async (name) => [name, await client.findAccount(name)] as const)
  )
  return Object.fromEntries(accounts) as Record<Name, OperatorAccount>
}

async function addKey(
  client: OperatorClient,
  name: keyof typeof CLIENTS,
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
