import type { PaymentWorld } from './payment-world.js'

const TABLES = ['transfer', 'asset', 'outgoing_payment', 'wallet_address', 'grant_reservation']

/** Changes what it likes: no foreign key is looked at, and the checks of transfers and outcomes are gone. */
export async function damageAll(world: PaymentWorld, damage: string): Promise<void> {
  const checks = await world.database.query<{ table: string; name: string; definition: string }>(
    `select conrelid::regclass::text as table, conname as name, pg_get_constraintdef(oid) as definition
       from pg_constraint where contype = 'c' and conrelid::regclass::text in ('transfer', 'grant_reservation')`
  )
  await world.database.query(`begin; set local session_replication_role = replica;
    ${TABLES.map((table) => `create table copy_of_${table} as table ${table};`).join('')}
    ${checks.map(({ table, name }) => `alter table ${table} drop constraint ${name};`).join('')}
    ${damage}; commit`)
  for (const { table, name, definition } of checks) {
    restoring.push(`alter table ${table} add constraint ${name} ${definition}`)
  }
}

const restoring: string[] = []

/** Puts everything back. */
export async function restoreAll(world: PaymentWorld): Promise<void> {
  await world.database.query(`begin; set local session_replication_role = replica;
    ${TABLES.map((table) => `delete from ${table}; insert into ${table} table copy_of_${table}; drop table copy_of_${table};`).join('')}
    alter table transfer alter amount drop default, alter posted_amount drop default, alter state drop default,
      alter ended_at drop default;
    ${restoring.splice(0).join(';')}; commit`)
}
