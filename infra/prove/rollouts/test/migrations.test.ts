import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

const SERVICES = fileURLToPath(new URL('../../../../services', import.meta.url))

/** Rules that are not applied: matters of taste, and settings that `migrateDatabase` makes for every migration. */
const NOT_ASKED_FOR = [
  'prefer-bigint-over-int',
  'prefer-bigint-over-smallint',
  'prefer-identity',
  'prefer-robust-stmts',
  'prefer-text-field',
  'prefer-timestamp-tz',
  'require-lock-timeout',
  'require-statement-timeout',
  'require-timeout-settings'
]

/** A script that runs outside a transaction. PostgreSQL itself refuses statements that cannot run inside one. */
const ALONE = /^-- run: alone$/m

/** What no migration may do. */
const HARMFUL = {
  'builds an index while nobody may write': 'create index i on quote (id);',
  'writes every row anew': 'alter table quote add column u uuid not null default gen_random_uuid();',
  'looks through all rows': 'alter table quote alter column note set not null;',
  'looks through two tables': 'alter table a add constraint c foreign key (b) references b (id);',
  'takes away what the version before reads': 'alter table quote drop column note;',
  'gives another name to what the version before reads': 'alter table quote rename column a to b;'
}

const migrations = readdirSync(SERVICES).flatMap((service) => {
  const folder = join(SERVICES, service, 'prisma', 'migrations')
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(folder, name, 'migration.sql'))
})

/** The output of the linter: one line for each statement that would block reads or writes for long. */
async function lint(files: readonly string[], isAlone: boolean): Promise<string[]> {
  if (files.length === 0) return []
  const squawk = createRequire(import.meta.url).resolve('squawk-cli/js/bin/squawk')
  const rules = [`--exclude=${NOT_ASKED_FOR.join(',')}`, '--pg-version=15', '--reporter=gcc']
  const mode = isAlone ? [] : ['--assume-in-transaction']
  const said = await new Promise<string>((resolve, reject) => {
    execFile(process.execPath, [squawk, ...rules, ...mode, ...files], (error, output, errors) => {
      if (error !== null && output === '') reject(new Error(errors, { cause: error }))
      else resolve(output)
    })
  })
  return said.split('\n')
}

let findings: readonly string[]
let folder: string
const fileOf = (index: number): string => join(folder, `harmful-${String(index)}.sql`)
const findingsOf = (file: string): string[] => findings.filter((line) => line.startsWith(`${file}:`))

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'migrations-'))
  for (const [index, script] of Object.values(HARMFUL).entries()) await writeFile(fileOf(index), script)
  const alone = migrations.filter((file) => ALONE.test(readFileSync(file, 'utf8')))
  const others = migrations.filter((file) => !alone.includes(file))
  const harmful = Object.keys(HARMFUL).map((_, index) => fileOf(index))
  findings = [...(await lint(alone, true)), ...(await lint([...others, ...harmful], false))]
})
afterAll(() => rm(folder, { recursive: true }))

describe('a migration blocks others only briefly', () => {
  it.each(migrations.map((file) => [relative(SERVICES, file), file]))('%s', (_name, file) => {
    expect(findingsOf(file)).toEqual([])
  })

  it.each(Object.keys(HARMFUL).map((what, index) => [what, index] as const))(
    'unlike one that %s',
    (_what, index) => {
      expect(findingsOf(fileOf(index))).not.toEqual([])
    }
  )
})
