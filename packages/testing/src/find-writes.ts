import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'

/** A table whose name a statement computes, so that it cannot be read from the text. */
export const COMPUTED = '(computed)'

/** Stands for the table of a relation that a model's write writes too, if the relation is not named like its model. */
export const NESTED = '(nested)'

/** A source location that writes or reads a table. */
export interface TableUse {
  /** Path of the file, below the folder that was looked through. */
  readonly file: string
  /** Name of the table, as the database has it, {@link COMPUTED} or {@link NESTED}. */
  readonly table: string
}

const TABLE = String.raw`(?:only\s+)?(?:"?public"?\.)?("?[a-z_]+"?|\$\{[^}]*\})(?![a-z_])`
/** Statements that write: the table follows. `for update` and `on conflict do update` name none. */
const WRITES = new RegExp(
  String.raw`\b(?:insert\s+into|delete\s+from|merge\s+into|truncate(?:\s+table)?|(?<!\bfor\s+(?:no\s+key\s+)?)(?<!\bdo\s+)update)\s+${TABLE}`,
  'gi'
)
const MODEL_WRITES = /\.([a-z][A-Za-z]*)\.(?:create|update|upsert|delete)\w*\(/g
/** `accessItems: { create: … }` within a write of another model. */
const NESTED_WRITES = /\b([a-z][A-Za-z]*):\s*\{\s*(?:create|connectOrCreate|update|upsert|delete)(?:Many)?:/g
/** A purge deletes from the table that it is given. */
const PURGES = /\btable:\s*Prisma\.sql`([a-z_]+)`,\s*(?:id|isKept):/g
/** Tables that a statement reads: after `from`, `join` and `using`, and in the list that goes on with commas. */
const READS =
  /\b(?:from|join|using)\s+((?:(?:only\s+)?[\w".]+(?:\s+(?:as\s+)?(?!where\b)\w+)?\s*,\s*)*(?:only\s+)?[\w".]+)/gi
/** A list reads the table that it is given. */
const LISTS = /\btable:\s*Prisma\.sql`([a-z_]+)`/g
const MODEL_READS = /\.([a-z][A-Za-z]*)\.(?:find|count|aggregate|groupBy)\w*\(/g
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
 * Finds every write of a table in the sources of a service: by statements, also by fragments of them, and by Prisma's models,
 * also nested ones.
 *
 * @param folder looked through with all that is below it, but for generated code and tests
 * @param tables the tables that there are, by the name of their model (`grantReservation`)
 */
export function findTableWrites(
  folder: string,
  tables: Readonly<Record<string, string>>
): Promise<readonly TableUse[]> {
  return findUses(folder, tables, (text) => [
    ...[...text.matchAll(WRITES), ...text.matchAll(PURGES)].map(([, table = '']) => table),
    ...[...text.matchAll(MODEL_WRITES)].map(([, model = '']) => tables[model] ?? ''),
    ...[...text.matchAll(NESTED_WRITES)].map(
      ([, relation = '']) => tables[relation] ?? tables[relation.replace(/s$/, '')] ?? NESTED
    )
  ])
}

/**
 * Finds every read of a table in the sources of a service: by statements, also by fragments of them, and by Prisma's models.
 * The relations that a model's read includes are not found.
 *
 * @param folder looked through with all that is below it, but for generated code and tests
 * @param tables the tables that there are, by the name of their model (`grantReservation`)
 */
export function findTableReads(
  folder: string,
  tables: Readonly<Record<string, string>>
): Promise<readonly TableUse[]> {
  return findUses(folder, tables, (text) => [
    ...[...text.matchAll(READS)].flatMap(([, list = '']) => list.split(',').map(firstName)),
    ...[...text.matchAll(LISTS)].map(([, table = '']) => table),
    ...[...text.matchAll(MODEL_READS)].map(([, model = '']) => tables[model] ?? '')
  ])
}

/** The table of one entry of a list: `only public.quote as q` is of `quote`. */
function firstName(entry: string): string {
  return (
    entry
      .trim()
      .replace(/^only\s+/i, '')
      .replace(/^"?public"?\./i, '')
      .split(/\s/)[0] ?? ''
  )
}

async function findUses(
  folder: string,
  tables: Readonly<Record<string, string>>,
  find: (text: string) => readonly string[]
): Promise<readonly TableUse[]> {
  const names = new Set([...Object.values(tables), COMPUTED, NESTED])
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.includes('/generated/'))
  const found = await Promise.all(
    files.map(async (path) => {
      const text = (await readFile(path, 'utf8')).replace(COMMENTS, '')
      return find(text)
        .map((table) => table.replaceAll('"', '').toLowerCase())
        .map((table) => (table.startsWith('$') ? COMPUTED : table))
        .filter((table) => names.has(table))
        .map((table) => ({ file: relative(folder, path), table }))
    })
  )
  return found.flat()
}
