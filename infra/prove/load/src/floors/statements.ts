import { randomUUID } from 'node:crypto'
import type pg from 'pg'

/** A kind of floor: each does the least that its calls need. */
export type FloorKind =
  'public' | 'read' | 'list' | 'create' | 'grant' | 'rotation' | 'payment' | 'introspection'

/** Floors that use the database: those of calls that memory alone cannot answer. */
export type StatementKind = Exclude<FloorKind, 'public'>

const ENTRIES = 20_000
const OWNERS = 20
const WINDOWS = 50
const PAGE = 20

/** Minimal tables with the essentials of the services' tables: a key, an owner, a time and a body. */
const SCHEMA = `
  create table entry (id uuid primary key, owner integer not null, made_at timestamptz not null, value numeric(20, 0) not null,
                      body text not null);
  create index on entry (owner, made_at, id);
  create table item (id uuid primary key, entry_id uuid not null references entry, body text not null);
  create table token (id uuid primary key, entry_id uuid not null references entry, hash bytea not null unique, ended_at timestamptz);
  create index on token (entry_id);
  create table spending (id integer primary key, spent numeric(38, 0) not null, most numeric(38, 0) not null);
  create table reservation (id uuid primary key, spending_id integer not null references spending, value numeric(20, 0) not null);
  create table account (id integer primary key, balance numeric(38, 0) not null, held numeric(38, 0) not null);
  create table outcome (id uuid primary key, due_at timestamptz not null);
  insert into entry select gen_random_uuid(), n % ${OWNERS}, now() - n * interval '1 second', n, repeat('x', 300)
    from generate_series(1, ${ENTRIES}) as n;
  insert into token select gen_random_uuid(), id, sha256(id::text::bytea), null from entry;
  insert into spending select n, 0, 1e30 from generate_series(1, ${WINDOWS}) as n;
  insert into account values (1, 1e30, 0);
`

/** One statement that is prepared once for each connection. */
interface Statement {
  readonly name: string
  readonly text: string
  readonly values: () => unknown[]
}

/** The statements of floors: one for each call. */
export class FloorDatabase {
  readonly #pool: pg.Pool
  #entries: string[] = []
  #turn = 0

  private constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  /** Makes the tables in an empty database. */
  static async create(pool: pg.Pool): Promise<void> {
    await pool.query(SCHEMA)
    await pool.query('vacuum (analyze)')
  }

  /** Takes a database that was made. */
  static async open(pool: pg.Pool): Promise<FloorDatabase> {
    const database = new FloorDatabase(pool)
    const { rows } = await pool.query<{ id: string }>('select id from entry limit 2000')
    database.#entries = rows.map(({ id }) => id)
    return database
  }

  /** Sends the statement of a floor. A payment has two: the other one is {@link reserve}. */
  async run(kind: StatementKind): Promise<pg.QueryResultRow[]> {
    const { rows } = await this.#send(this.#statements[kind])
    return rows as pg.QueryResultRow[]
  }

  /** Reserves room under a limit, and records it. */
  async reserve(): Promise<void> {
    await this.#send(this.#reserve)
  }

  #send({ name, text, values }: Statement): Promise<pg.QueryResult> {
    return this.#pool.query({ name, text, values: values() })
  }

  #entry(): string | undefined {
    this.#turn += 1
    return this.#entries[this.#turn % this.#entries.length]
  }

  readonly #read: Statement = {
    name: 'read',
    text: 'select id, owner, made_at, value, body from entry where id = $1',
    values: () => [this.#entry()]
  }

  readonly #reserve: Statement = {
    name: 'reserve',
    text: `with room as (update spending set spent = spent + $2 where id = $1 and spent + $2 <= most returning id)
           insert into reservation (id, spending_id, value) select $3, id, $2 from room`,
    values: () => [1, 10, randomUUID()]
  }

  readonly #statements: Readonly<Record<StatementKind, Statement>> = {
    read: this.#read,
    introspection: this.#read,
    list: {
      name: 'list',
      text: `select id, owner, made_at, value, body from entry where owner = $1 order by made_at desc, id desc limit ${String(PAGE)}`,
      values: () => [1]
    },
    create: {
      name: 'create',
      text: 'insert into entry (id, owner, made_at, value, body) values ($1, $2, now(), $3, $4)',
      values: () => [randomUUID(), 2, 100, 'x'.repeat(300)]
    },
    grant: {
      name: 'grant',
      text: `with made as (insert into entry (id, owner, made_at, value, body) values ($1, 3, now(), 0, $2) returning id),
                  item as (insert into item (id, entry_id, body) select $3, id, $2 from made)
             insert into token (id, entry_id, hash) select $4, id, sha256($5::bytea) from made`,
      values: () => [randomUUID(), 'x'.repeat(300), randomUUID(), randomUUID(), randomUUID()]
    },
    rotation: {
      name: 'rotation',
      text: `with old as (update token set ended_at = now() where entry_id = $1 and ended_at is null returning entry_id)
             insert into token (id, entry_id, hash) select $2, entry_id, sha256($3::bytea) from old`,
      values: () => [this.#entry(), randomUUID(), randomUUID()]
    },
    payment: {
      name: 'payment',
      text: `with held as (update account set held = held + $2 where id = 1 and balance - held >= $2 returning id),
                  made as (insert into entry (id, owner, made_at, value, body) select $1, 4, now(), $2, $3 from held),
                  due as (insert into outcome (id, due_at) select $1, now() from held)
             insert into reservation (id, spending_id, value) select $4, id, $2 from held`,
      values: () => [randomUUID(), 10, 'x'.repeat(300), randomUUID()]
    }
  }
}
