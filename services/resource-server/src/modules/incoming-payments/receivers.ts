import { createLookup, placeholder, Statement } from '@open-payments-server/database'
import { LRUCache } from 'lru-cache'
import type { Receiver, ReceiverDirectory, RememberedReceivers } from '../../domain/receiver.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { Prisma, type Queries } from '../database.js'
import { assetById, assetIdOf } from '../ledger/index.js'
import { accountOf, isFrozenAddress } from '../wallet-addresses/index.js'

interface ReceiverRow {
  readonly id: string
  readonly incoming_value: string | null
  readonly received_value: string
  readonly completed: boolean
  readonly expires_at: Date
  readonly asset_id: number
  readonly code: string
  readonly scale: number
}

/** One statement over four tables for all that arrive together: Prisma's models would send one for each table. */
const BY_ID = new Statement<ReceiverRow>(
  'find-receivers',
  Prisma.sql`select p.id, p.incoming_value::text, p.received_value::text, p.completed, p.expires_at, s.id as asset_id, s.code,
                    s.scale
               from incoming_payment p ${accountOf(Prisma.sql`p.wallet_address_id`)}
                    ${assetById(assetIdOf(Prisma.sql`w.account_id`), Prisma.sql`s`)}
              where p.id = any(${placeholder('ids')}::uuid[])
                and not ${isFrozenAddress(Prisma.sql`p.wallet_address_id`)}`
)

/**
 * Finds the incoming payments hosted here, batching concurrent lookups into one statement. Those of a frozen wallet address
 * are not found: payers learn no more than that they cannot be paid.
 */
export function createReceiverDirectory(dependencies: {
  database: Queries
  urls: ResourceUrls
}): ReceiverDirectory {
  const lookUp = createLookup((ids) => BY_ID.rows(dependencies.database, { ids }))
  return {
    async find(url) {
      const id = dependencies.urls.idOf('incoming-payments', url)
      const row = id === undefined ? undefined : await lookUp(id)
      return row && toReceiver(row, url)
    }
  }
}

function toReceiver(row: ReceiverRow, url: string): Receiver {
  return {
    url,
    incomingPaymentId: row.id,
    asset: { code: row.code, scale: row.scale },
    assetId: row.asset_id,
    incomingValue: row.incoming_value === null ? undefined : BigInt(row.incoming_value),
    receivedValue: BigInt(row.received_value),
    completed: row.completed,
    expiresAtMs: row.expires_at.getTime()
  }
}

/** Maximum number of cached receivers. */
const REMEMBERED_MAX = 10_000

/**
 * Caches what never changes of each receiver: its asset, maximum and expiry. So quoting or paying the same one again needs
 * no statement beforehand. What it has received is not cached and counts as nothing here: the statement that stores the
 * quote or the payment checks the current value.
 */
export function rememberReceivers(receivers: ReceiverDirectory): RememberedReceivers {
  const remembered = new LRUCache<string, Receiver>({ max: REMEMBERED_MAX })
  return {
    async find(url) {
      const known = remembered.get(url)
      if (known !== undefined) return known
      const receiver = await receivers.find(url)
      if (receiver?.completed === false) remembered.set(url, { ...receiver, receivedValue: 0n })
      return receiver
    },
    forget: (url) => {
      remembered.delete(url)
    }
  }
}
