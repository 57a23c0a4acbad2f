import { createLookup } from '@open-payments-server/database'
import type { Pool } from 'pg'
import type { Receiver, ReceiverDirectory } from '../../domain/receiver.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'

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

/** Finds the incoming payments hosted here: those that are asked for at the same time with one statement. */
export function createLocalReceivers(deps: { pool: Pool; urls: ResourceUrls }): ReceiverDirectory {
  const lookUp = createLookup<ReceiverRow>({
    pool: deps.pool,
    name: 'find-receivers',
    text: `select p.id, p.incoming_value, p.received_value, p.completed, p.expires_at, s.id as asset_id, s.code, s.scale
             from incoming_payment p
             join wallet_address w on w.id = p.wallet_address_id
             join account a on a.id = w.account_id
             join asset s on s.id = a.asset_id
            where p.id = any($1)`
  })
  return {
    async find(url) {
      const id = deps.urls.idOf('incoming-payments', url)
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
