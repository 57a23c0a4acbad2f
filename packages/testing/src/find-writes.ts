import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'

/** A table whose name a statement computes, so that it cannot be read from the text. */
export const COMPUTED = '(computed)'

/** A place in the sources that writes or reads a table. */
export interface TableUse {
  /** Path of the file, below the folder that was looked through. */
  readonly file: string
  /** Name of the table, as the database has it, or {@link COMPUTED}. */
  readonly table: string
}

/** Statements that write: the table follows. `for update` and `on conflict do update` name none. */
const WRITES =
  /\b(?:insert\s+into|delete\s+from|merge\s+into|truncate(?:\s+table)?|(?<!\bfor\s+(?:no\s+key\s+)?)(?<!\bdo\s+)update)\s+(?:only\s+)?(?:"?public"?\.)?("?[a-z_]+"?|\$\{[^}]*\})(?![a-z_])/gi
const MODEL_WRITES = /\.([a-z][A-Za-z]*)\.(?:create|update|upsert|delete)\w*\(/g
/** A purge deletes from the table that it is given. */
const PURGES = /\btable:\s*Prisma\.sql`([a-z_]+)`,\s*(?:id|isKept):/g
const COMMENTS = /\/\*[\s\S]*?\*\/|(?:^|\s)\/\/.*$/gm

/**
 * The tables of a service by the names of their models as Prisma's client has them (`grantReservation`).
 *
 * @param models names of the models (`GrantReservation`): the table of each has the same name, with underscores
 */
export function tablesOfModels(models: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    models.map((model) => [
      model.charAt(0).toLowerCase() + model.slice(1),
      model.replace(/(?<!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase()
    ])
  )
}

/**
 * Finds every write of a table in the sources of a service: by statements, also by fragments of them, and by Prisma's models.
 *
 * @param folder looked through with all that is below it, but for generated code and tests
 * @param tables the tables that there are, by the name of their model (`grantReservation`)
 */
export async function findTableWrites(
  folder: string,
  tables: Readonly<Record<string, string>>
): Promise<readonly TableUse[]> {
  const names = new Set(Object.values(tables))
  const files = await sourcesIn(folder)
  const found = await Promise.all(
    files.map(async (path) => {
      const text = (await readFile(path, 'utf8')).replace(COMMENTS, '')
      const written = [
        ...[...text.matchAll(WRITES), ...text.matchAll(PURGES)].map(([, table = '']) => table),
        ...[...text.matchAll(MODEL_WRITES)].map(([, model = '']) => tables[model] ?? '')
      ]
      return written
        .map((table) => table.replaceAll('"', '').toLowerCase())
        .map((table) => (table.startsWith('$') ? COMPUTED : table))
        .filter((table) => names.has(table) || table === COMPUTED)
        .map((table) => ({ file: relative(folder, path), table }))
    })
  )
  return found.flat()
}

/** Statements that read: the table follows, also after a comma (`from a x, b y`). */
const READS =
  /(?:\b(?:from|join|using)\s+|(?<=\bfrom\s+[a-z_]+(?:\s+[a-z_]+)?),\s*)(?:only\s+)?(?:"?public"?\.)?("?[a-z_]+"?)(?![a-z_])/gi
const MODEL_READS = /\.([a-z][A-Za-z]*)\.(?:find|count|aggregate|groupBy)\w*\(/g
/** A list reads the table that it is given. */
const LISTS = /\btable:\s*Prisma\.sql`([a-z_]+)`/g

/**
 * Finds every read of a table in the sources of a service, as {@link findTableWrites} finds the writes. What a model reads of
 * its relations is not found.
 *
 * @param folder looked through with all that is below it, but for generated code and tests
 * @param tables the tables that there are, by the name of their model (`grantReservation`)
 */
export async function findTableReads(
  folder: string,
  tables: Readonly<Record<string, string>>
): Promise<readonly TableUse[]> {
  const names = new Set(Object.values(tables))
  const found = await Promise.all(
    (await sourcesIn(folder)).map(async (path) => {
      const text = (await readFile(path, 'utf8')).replace(COMMENTS, '')
      const read = [
        ...[...text.matchAll(READS), ...text.matchAll(LISTS)].map(([, table = '']) => table),
        ...[...text.matchAll(MODEL_READS)].map(([, model = '']) => tables[model] ?? '')
      ]
      return read
        .map((table) => table.replaceAll('"', '').toLowerCase())
        .filter((table) => names.has(table))
        .map((table) => ({ file: relative(folder, path), table }))
    })
  )
  return found.flat()
}

/** Paths of the sources of a service. */
async function sourcesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.includes('/generated/'))
}
