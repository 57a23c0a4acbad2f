import type { ClientBase } from 'pg'

/**
 * Who keeps what a service was told is committed. `synchronous`: the server waits for a standby, and the service refuses one that
 * does not. `platform`: a managed database keeps it elsewhere, where the service cannot see it. `accept-loss`: the server alone, so
 * that the newest payments are lost with it.
 */
export type Durability = 'synchronous' | 'platform' | 'accept-loss'

/** What the server of a connection is at the moment. */
export interface ServerState {
  /** A standby is read-only. */
  readonly isPrimary: boolean
  /** Whether it answers a commit only once a standby has it on its disk. */
  readonly waitsForStandby: boolean
  /** Identifier of its system: a standby has that of its primary, and a copy by `pg_dump` or `pg_upgrade` another one. */
  readonly system: string
  /** Timeline of its write-ahead log, which is another one after each promotion; undefined for a standby. */
  readonly timeline: string | undefined
}

/** A server that a service does not use. */
export class UnfitServer extends Error {
  override readonly name = 'UnfitServer'

  constructor(
    message: string,
    /** SQLSTATE of what would fail there, or what it says. */
    readonly code: '25006' | 'NOT_SYNCHRONOUS'
  ) {
    super(message)
  }
}

/** Reads what the server of a connection is. */
export async function readServerState(client: Pick<ClientBase, 'query'>): Promise<ServerState> {
  const { rows } = await client.query<{
    is_primary: boolean
    waits_for_standby: boolean
    timeline: string | null
    system: string
  }>(
    `/* read-server-state */
     select not pg_is_in_recovery() as is_primary,
            current_setting('synchronous_standby_names') <> ''
              and current_setting('synchronous_commit') in ('on', 'remote_apply') as waits_for_standby,
            case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline,
            (select system_identifier::text from pg_control_system()) as system`
  )
  const [row] = rows
  if (row === undefined) throw new Error('a select of one row has none')
  return {
    isPrimary: row.is_primary,
    waitsForStandby: row.waits_for_standby,
    timeline: row.timeline ?? undefined,
    system: row.system
  }
}

/**
 * Refuses a server that cannot write, or does not keep what it commits as it must.
 *
 * @throws UnfitServer
 */
export function assertFit({ isPrimary, waitsForStandby }: ServerState, durability: Durability): void {
  if (!isPrimary) throw new UnfitServer('the database is a standby', '25006')
  if (durability === 'synchronous' && !waitsForStandby) {
    throw new UnfitServer(
      'the database commits without a standby: it must have synchronous_standby_names, and synchronous_commit on or remote_apply',
      'NOT_SYNCHRONOUS'
    )
  }
}
