import {
  AmountError,
  type Amount,
  type Asset,
  ASSET_SCALE_MAX,
  parseMajorUnits
} from '@open-payments-server/value-types/amounts'
import { InvalidArgumentError, Option } from 'commander'
import { CommandError } from './command-error.js'
import type { OperatorAccount, OperatorClient } from './operator-client.js'

/** Default number of items of a list. */
const LIMIT_DEFAULT = 100
/** Maximum number of items of a list. */
const LIMIT_MAX = 100_000
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** `--limit <count>`. */
export function limitOption(): Option {
  return new Option('--limit <count>', 'list at most this many').argParser(parseLimit).default(LIMIT_DEFAULT)
}

function parseLimit(text: string): number {
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > LIMIT_MAX) {
    throw new InvalidArgumentError(`Expected a whole number from 1 to ${String(LIMIT_MAX)}.`)
  }
  return limit
}

/** Reads a scale. */
export function parseScale(text: string): number {
  const scale = /^\d{1,3}$/.test(text) ? Number(text) : Infinity
  if (scale > ASSET_SCALE_MAX) {
    throw new InvalidArgumentError(`Expected a whole number from 0 to ${String(ASSET_SCALE_MAX)}.`)
  }
  return scale
}

/** Reads a UUID. */
export function parseUuid(text: string): string {
  const uuid = text.toLowerCase()
  if (!UUID.test(uuid)) throw new InvalidArgumentError('Expected a UUID.')
  return uuid
}

/** Reads a UUID, after those before it. */
export function parseUuids(text: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, parseUuid(text)]
}

/** Reads an instant. */
export function parseInstant(text: string): Date {
  const instant = new Date(text)
  if (!/^\d{4}-\d{2}-\d{2}/.test(text) || Number.isNaN(instant.getTime()))
    throw new InvalidArgumentError('Expected an instant such as 2026-11-28 or 2026-11-28T09:00:00Z.')
  return instant
}

/** Reads a whole number of the smallest unit of an asset. */
export function parseValue(text: string): bigint {
  if (!/^(?:0|[1-9]\d{0,37})$/.test(text))
    throw new InvalidArgumentError("Expected a whole number of the asset's smallest unit.")
  return BigInt(text)
}

/** Reads an absolute http or https URL. */
export function parseUrl(text: string): string {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text))
    throw new InvalidArgumentError('Expected an http or https URL.')
  return text
}

/**
 * Finds the asset that `USD` or `USD/2` names.
 *
 * @throws CommandError when there is none, or when the code alone names several
 */
export async function findAsset(client: OperatorClient, text: string): Promise<Asset> {
  const [code, scale, ...others] = text.split('/')
  const known = await client.listAssets()
  const [asset, another] = known.filter(
    (candidate) =>
      others.length === 0 &&
      candidate.code === code &&
      (scale === undefined || String(candidate.scale) === scale)
  )
  if (asset === undefined)
    throw new CommandError(`there is no asset ${text}: create it first, or see \`asset list\``, 'asset')
  if (another !== undefined) {
    throw new CommandError(
      `there are several assets ${text}: say which, such as ${text}/${String(asset.scale)}`,
      'asset'
    )
  }
  return asset
}

/**
 * Finds an account and reads an amount in major units of its asset, exactly.
 *
 * @param text such as `1000.00`
 * @throws CommandError when there is no such account, or the amount has more decimals than its asset, or is zero
 */
export async function findAccountAmount(
  client: OperatorClient,
  accountName: string,
  text: string
): Promise<{ account: OperatorAccount; amount: Amount }> {
  const account = await client.findAccount(accountName)
  if (account === undefined) throw unknownAccount(accountName)
  const amount = parseAmountOf(account.asset, text)
  if (amount.value === 0n) throw new CommandError('the amount must be above 0', 'amount')
  return { account, amount }
}

/** There is no account of this name. */
export function unknownAccount(name: string): CommandError {
  return new CommandError(`there is no account ${name}`, 'account')
}

function parseAmountOf(asset: Asset, text: string): Amount {
  try {
    return parseMajorUnits(text, asset)
  } catch (error) {
    if (!(error instanceof AmountError)) throw error
    throw new CommandError(`the amount ${error.problem}`, 'amount')
  }
}
