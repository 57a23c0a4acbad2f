import pg from 'pg'

/** A statement that was sent over a pool, and its plans. */
export interface ExplainedStatement {
  readonly text: string
  /** Name that it is prepared under, so that PostgreSQL may use a generic plan; undefined if it is not prepared. */
  readonly name: string | undefined
  /** Plans for the values it was sent with. */
  readonly plans: PlanNode[]
  /** The generic plan, for any values; undefined if it is not prepared. */
  genericPlan: PlanNode | undefined
}

/** A node of a plan, with the names of `explain (format json)`. */
export interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  /** The condition for looking up entries of an index; absent if all of it is read. */
  readonly 'Index Cond'?: string
  readonly 'Plan Rows': number
  /** Per loop; absent if the statement was not executed. */
  readonly 'Actual Rows'?: number
  readonly 'Actual Loops'?: number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

/** Explains all statements that are sent over a pool. */
export interface StatementExplainer {
  /** By text. */
  readonly statements: ReadonlyMap<string, ExplainedStatement>
  /** Statements that could not be explained, with the errors. */
  readonly failures: readonly string[]
  /** Adds the generic plans. */
  explainGenerically(): Promise<void>
  stop(): void
}

type Run = (text: string, values?: readonly unknown[]) => Promise<pg.QueryResult>
type Query = (...values: readonly unknown[]) => unknown

interface SentStatement {
  readonly text: string
  readonly values: readonly unknown[]
  readonly name: string | undefined
}

const CONTROL = /^\s*(begin|commit|rollback|start|set|savepoint|release)\b/i
const OPENS = /^\s*(begin|start)\b/i
const CLOSES = /^\s*(commit|rollback)\b/i

/** Forces plans to use an index wherever there is a suitable one. */
const INDEXES_ALONE =
  'set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off'

/**
 * Explains every statement that is sent over a pool from now on, right before it is executed: on the same connection, in the
 * same transaction, with the same values, and rolled back.
 *
 * @param options.carriedOut whether statements are executed to be explained, which gives real numbers of rows. If not, plans are
 *   forced to use indexes, so a full scan shows that there is no suitable index
 */
export function explainStatements(pool: pg.Pool, options: { carriedOut: boolean }): StatementExplainer {
  const statements = new Map<string, ExplainedStatement>()
  const failures: string[] = []
  const originals = new Map<pg.PoolClient, Query>()
  const inTransaction = new WeakSet<pg.PoolClient>()

  const remember = ({ text, name }: SentStatement, plan: PlanNode): void => {
    const known = statements.get(text)
    if (known === undefined) statements.set(text, { text, name, plans: [plan], genericPlan: undefined })
    else known.plans.push(plan)
  }
  const explain = async (client: pg.PoolClient, query: Query, sent: SentStatement): Promise<void> => {
    const run: Run = (text, values = []) => query(text, values) as Promise<pg.QueryResult>
    const nested = inTransaction.has(client)
    await run(nested ? 'savepoint explained' : 'begin')
    try {
      if (!options.carriedOut) await run(INDEXES_ALONE)
      const { rows } = await (options.carriedOut
        ? carryOut(run, sent)
        : run(`explain (format json) ${sent.text}`, sent.values))
      remember(sent, planOf(rows))
    } catch (error) {
      failures.push(`${String(error)}: ${sent.text}`)
    } finally {
      await run(nested ? 'rollback to savepoint explained' : 'rollback')
    }
  }
  const onAcquire = (client: pg.PoolClient): void => {
    if (originals.has(client)) return
    const query = client.query.bind(client) as Query
    originals.set(client, query)
    const explaining: Query = (...values) => {
      const sent = readStatement(values)
      if (sent === undefined) return query(...values)
      if (CONTROL.test(sent.text)) {
        if (OPENS.test(sent.text)) inTransaction.add(client)
        if (CLOSES.test(sent.text)) inTransaction.delete(client)
        return query(...values)
      }
      return explain(client, query, sent).then(() => query(...values))
    }
    client.query = explaining as typeof client.query
  }
  pool.on('acquire', onAcquire)
  return {
    statements,
    failures,
    async explainGenerically() {
      const client = await pool.connect()
      try {
        await client.query('begin')
        if (!options.carriedOut) await client.query(INDEXES_ALONE)
        for (const statement of statements.values()) {
          if (statement.name === undefined) continue
          const { rows } = await client.query(`explain (generic_plan, format json) ${statement.text}`)
          statement.genericPlan = planOf(rows)
        }
        await client.query('rollback')
      } finally {
        client.release(true)
      }
    },
    stop() {
      pool.off('acquire', onAcquire)
      for (const [client, query] of originals) client.query = query as typeof client.query
    }
  }
}

let preparedCount = 0

/** Executes a statement as the pool does, prepared. `explain` alone would plan it for its values. */
async function carryOut(run: Run, { text, values }: SentStatement): Promise<pg.QueryResult> {
  // A new name each time, because a failed statement stays prepared.
  preparedCount += 1
  const name = `explained_${String(preparedCount)}`
  await run(`prepare ${name} as ${text}`)
  const parameters = values.length === 0 ? '' : `(${values.map(literalOf).join(', ')})`
  const plan = await run(`explain (analyze, timing off, format json) execute ${name}${parameters}`)
  await run(`deallocate ${name}`)
  return plan
}

/** A parameter as an untyped SQL literal. */
function literalOf(value: unknown): string {
  const text = textOf(value)
  return text === undefined ? 'null' : pg.escapeLiteral(text)
}

function textOf(value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined
  if (Buffer.isBuffer(value)) return `\\x${value.toString('hex')}`
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return `{${value.map(elementOf).join(',')}}`
  if (typeof value === 'string') return value
  return typeof value === 'bigint' ? value.toString() : JSON.stringify(value)
}

function elementOf(value: unknown): string {
  const text = textOf(value)
  return text === undefined ? 'null' : `"${text.replaceAll(/["\\]/g, '\\$&')}"`
}

/** The statement that `query` was called with; undefined for other calls, and for explained statements. */
function readStatement([first, second]: readonly unknown[]): SentStatement | undefined {
  const config = typeof first === 'string' ? { text: first } : first
  if (typeof config !== 'object' || config === null || !('text' in config)) return undefined
  const { text, values, name } = config as { text: unknown; values?: unknown; name?: unknown }
  if (typeof text !== 'string' || /^(explain|prepare|deallocate) /.test(text)) return undefined
  const given = Array.isArray(values) ? values : Array.isArray(second) ? second : []
  return {
    text,
    values: given as unknown[],
    name: typeof name === 'string' && name !== '' ? name : undefined
  }
}

function planOf(rows: readonly unknown[]): PlanNode {
  const [row] = rows as { 'QUERY PLAN': { Plan: PlanNode }[] }[]
  const plan = row?.['QUERY PLAN'][0]?.Plan
  if (plan === undefined) throw new Error('explain answered no plan')
  return plan
}

/** Restrictions on plans. */
export interface PlanLimits {
  /** Tables that may never be read as a whole. */
  readonly bigTables: ReadonlySet<string>
  /** Maximum number of rows that any node may sort, return or discard. */
  readonly rowsMax: number
}

/** Violations of the restrictions, in words. */
export function findPlanFaults(plan: PlanNode, limits: PlanLimits): string[] {
  const { bigTables, rowsMax } = limits
  const faults: string[] = []
  const table = plan['Relation Name']
  if (plan['Node Type'] === 'Seq Scan' && table !== undefined && bigTables.has(table)) {
    faults.push(`reads all of ${table}`)
  }
  const loops = plan['Actual Loops'] ?? 1
  const rows = plan['Actual Rows']
  if (rows !== undefined && rows * loops > rowsMax) {
    faults.push(
      `${plan['Node Type']} passes on ${rows * loops} rows${table === undefined ? '' : ` of ${table}`}`
    )
  }
  const removed = (plan['Rows Removed by Filter'] ?? 0) * loops
  if (removed > rowsMax) faults.push(`${plan['Node Type']} throws away ${removed} rows of ${String(table)}`)
  if (plan['Node Type'] === 'Sort' && rows === undefined && plan['Plan Rows'] > rowsMax) {
    faults.push(`sorts ${plan['Plan Rows']} rows`)
  }
  return [...faults, ...(plan.Plans ?? []).flatMap((child) => findPlanFaults(child, limits))]
}

/** A table or an index that a plan reads. */
export interface PlanRead {
  /** Name of the index, or of the table if it is read without one. */
  readonly source: string
  /** Whether entries are looked up; if not, all of it is read. */
  readonly looksUp: boolean
}

/** The tables and indexes that a plan reads. */
export function findReads(plan: PlanNode): PlanRead[] {
  const { 'Node Type': type, 'Relation Name': table, 'Index Name': index } = plan
  // A bitmap scan of a table reads what the index scans below it find.
  const source = type.endsWith('Scan') && type !== 'Bitmap Heap Scan' ? (index ?? table) : undefined
  return [
    ...(source === undefined ? [] : [{ source, looksUp: plan['Index Cond'] !== undefined }]),
    ...(plan.Plans ?? []).flatMap(findReads)
  ]
}
