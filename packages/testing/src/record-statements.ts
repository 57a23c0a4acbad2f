import type pg from 'pg'

/** The statements sent over a pool while it was recorded. */
export interface StatementRecord {
  /** The texts of the statements, in the order they were sent; `begin` and `commit` included. */
  readonly statements: readonly string[]
  /** Stops recording. */
  stop(): void
}

type Query = (...values: readonly unknown[]) => unknown

/**
 * Statements that services send by themselves: to look for new events, to tell of them, to end what was begun, and for what
 * comes with time.
 */
const BACKGROUND = new RegExp(
  `^/\\* (?:${[
    'read-server-state',
    // Events, and telling of them.
    'lock-event-log',
    'publish-events',
    'read-newest-event-number',
    'read-events',
    'read-subject-events',
    'lease-webhook-endpoints',
    'record-webhook-deliveries',
    'count-payment-hours',
    // Outgoing payments, once they are created.
    'claim-outgoing-payments',
    'settle-outgoing-payments',
    'claim-reservation-outcomes',
    'mark-outcomes-delivered',
    'claim-payments-to-send',
    // What comes with time.
    'tell-expiries',
    'tell-expiring-grants',
    'keep-frozen-clients',
    'decline-overdue-payments',
    'meet-timeline',
    'doubt-sendings',
    'doubt-approvals',
    'close-days-of-peers',
    'purge-[a-z-]+'
  ].join('|')})\\b`
)

/** The same, by a model of Prisma: whether there are payments whose time for approval is over. */
const LOOKS_FOR_OVERDUE = /^SELECT .*"payment_approval"\."decision" IS NULL/

/** Whether a service sends a statement by itself, whatever is requested of it. */
export function isBackgroundStatement(text: string): boolean {
  return BACKGROUND.test(text) || LOOKS_FOR_OVERDUE.test(text)
}

/**
 * Records every statement that is sent over a pool from now on: to count round trips. What a service sends by itself
 * is left out, and a transaction that begins with it, because it runs beside whatever else happens.
 */
export function recordStatements(pool: pg.Pool): StatementRecord {
  const statements: string[] = []
  const originals = new Map<pg.PoolClient, Query>()
  const onAcquire = (client: pg.PoolClient): void => {
    if (originals.has(client)) return
    const query = client.query as Query
    originals.set(client, query)
    let begun: string | undefined
    let isOwn = false
    const recording: Query = (...values) => {
      const [first] = values
      const text = typeof first === 'string' ? first : (first as { text: string }).text
      if (/^begin$/i.test(text)) begun = text
      else if (begun !== undefined) {
        isOwn = isBackgroundStatement(text)
        if (!isOwn) statements.push(begun, text)
        begun = undefined
      } else if (!isOwn && !isBackgroundStatement(text)) statements.push(text)
      if (/^(?:commit|rollback)$/i.test(text)) isOwn = false
      return query.apply(client, [...values])
    }
    client.query = recording as typeof client.query
  }
  pool.on('acquire', onAcquire)
  return {
    statements,
    stop() {
      pool.off('acquire', onAcquire)
      for (const [client, query] of originals) client.query = query as typeof client.query
    }
  }
}
