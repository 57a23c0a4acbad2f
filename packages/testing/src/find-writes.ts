import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'

/** A table whose name a statement computes, so that it cannot be read from the text. */
export const COMPUTED = '(computed)'

/** A source location that writes or reads a table. */
export interface TableUse {
  /** Path of the file, below the folder that was looked through. */
  readonly file: string
  /** Name of the table, as the database has it, or {@link COMPUTED}. */
  readonly table: string
}

/** How the sources of a service name its tables. */
export interface SchemaTables {
  /** The tables by the names of their models as Prisma's client has them (`grantReservation`). */
  readonly models: Readonly<Record<string, string>>
  /** The tables by the names of the relations that lead to them (`accessItems`). */
  readonly relations: Readonly<Record<string, string>>
}

/**
 * Reads how the sources of a service name its tables.
 *
 * @param schema path of its `schema.prisma`
 * @throws Error when two relations to different tables have the same name: the sources would not tell which is meant
 */
export async function readSchemaTables(schema: string): Promise<SchemaTables> {
  const text = await readFile(schema, 'utf8')
  const bodies = [...text.matchAll(/^model (\w+) \{\n([\s\S]*?)^\}/gm)]
  const tableOf = new Map(
    bodies.map(([, model = '', body = '']) => [model, /@@map\("(\w+)"\)/.exec(body)?.[1] ?? model])
  )
  const relations: Record<string, string> = {}
  for (const [, , body = ''] of bodies)
    for (const [, relation = '', model = ''] of body.matchAll(/^ {2}(\w+)\s+(\w+)/gm)) {
      const table = tableOf.get(model)
      if (table === undefined) continue
      if ((relations[relation] ?? table) !== table) throw new Error(`two relations are called ${relation}`)
      relations[relation] = table
    }
  const models = Object.fromEntries(
    [...tableOf].map(([model, table]) => [model.charAt(0).toLowerCase() + model.slice(1), table])
  )
  return { models, relations }
}

const NAME = String.raw`(?:only\s+)?(?:"?public"?\s*\.\s*)?"?[a-z_]+"?(?![a-z_])`
const VERB = String.raw`\b(?:insert\s+into|delete\s+from|merge\s+into|truncate(?:\s+table)?|(?<!\bfor\s+(?:no\s+key\s+)?)(?<!\bdo\s+)update)`
/** Statements that write: the table follows, or several. `for update` and `on conflict do update` name none. */
const WRITES = new RegExp(String.raw`${VERB}\s+(${NAME}(?:\s*,\s*${NAME})*|\$\{)`, 'gi')
/** Texts that end before the table, or go on by concatenation. */
const BROKEN_WRITES = new RegExp(
  String.raw`${VERB}\s+['"\x60]|\b(?:insert|delete|merge)\s+['"\x60]|(['"\x60])(?:(?!\1).)*${VERB}\s(?:(?!\1).)*\1\s*\+`,
  'gi'
)
/** Statements whose text may be computed in any way. */
const UNSAFE = /\$(?:execute|query)RawUnsafe\b/g
const WRITING = '(?:create|update|upsert|delete)(?:Many|ManyAndReturn)?'
const READING = '(?:find(?:Unique|First)(?:OrThrow)?|findMany|count|aggregate|groupBy)'
/** `on.quote.create(`, also with brackets, over two lines, or of a model that was destructured. */
const modelCalls = (method: string): RegExp =>
  new RegExp(String.raw`\b([a-z]\w*)['"\x60]?\s*\]?\s*!?\s*\??\.\s*${method}\s*(?:<[^(]*>)?\(`, 'g')
const MODEL_WRITES = modelCalls(WRITING)
const MODEL_READS = modelCalls(READING)
/** `on[model].create(` */
const computedCalls = (method: string): RegExp =>
  new RegExp(String.raw`\[\s*[^'"\x60\]\s][^\]]*\]\s*!?\s*\??\.\s*${method}\s*\(`, 'g')
const COMPUTED_WRITES = computedCalls(WRITING)
const COMPUTED_READS = computedCalls(READING)
/** `const { quote: other } = on`: what it is called by is not seen. */
const RENAMED = /\{[^{}]*?\b([a-z]\w*)\s*:\s*\w+[^{}]*\}\s*=(?![=>])/g
/** `accessItems: { create: … }` within a write of another model. */
const NESTED_WRITES = /\b([a-z][A-Za-z]*):\s*\{\s*(?:create|connectOrCreate|update|upsert|delete)(?:Many)?:/g
/** Tables that a statement reads: after `from`, `join` and `using`, and in the list that goes on with commas. */
const READS =
  /\b(?:from|join|using)\s+((?:(?:only\s+)?[\w".]+(?:\s+(?:as\s+)?(?!where\b)\w+)?\s*,\s*)*(?:only\s+)?[\w".]+)/gi
/** A fragment, which a module hands out, has a name of capitals or is called; anything else may be any table. */
const COMPUTED_TABLE =
  /\b(?:[Ff]rom|FROM|[Jj]oin|JOIN|[Uu]sing|USING)\s+(?:[Ll]ateral\s+|LATERAL\s+)?\$\{\s*(?![A-Z][A-Z_]*\s*\}|[a-z]\w*\()/g
const BROKEN_READS = /\b(?:from|join|using)\s+['"`]\s*[+)]/gi
/** A table alone: whoever is handed it may do anything with it. */
const BARE = /\b(?:sql|raw|rawSql)(?:\(\s*['"`]|`)\s*"?([a-z_]+)"?(?:\s+(?:as\s+)?\w+)?\s*['"`]/gi
/** One that others import. */
const EXPORTED_BARE =
  /\bexport\s+const\s+\w+[^=;]*=\s*(?:Prisma\.)?sql`\s*"?[a-z_]+"?(?:\s+(?:as\s+)?\w+)?\s*`/g
/** Where a model's query names relations. */
const QUERIES = /\b(?:include|select|where|orderBy|_count)\s*[:=]\s*\[?\s*\{/g
/** A constant is of the module that owns the table. */
const RELATIONS = /\b([a-z]\w*)\s*:\s*(?:true\b|\{|\w+\()/g
/** Other files have words like "from" in texts for people. */
const KNOWS_DATABASE = /\b(?:Prisma|sql)\b|\$(?:query|execute)Raw|\/database\.js'/
const COMMENTS = /\/\*[\s\S]*?\*\/|(?:^|\s)\/\/.*$/gm

/**
 * Finds every write of a table in the sources of a service: by statements, also by fragments of them, and by Prisma's models,
 * also nested ones. A table alone, as a fragment, counts: whoever is handed it may write it. So one that is exported is {@link
 * COMPUTED}.
 *
 * @param folder looked through with all that is below it, but for generated code and tests
 */
export function findTableWrites(folder: string, tables: SchemaTables): Promise<readonly TableUse[]> {
  return findUses(folder, tables, (text) => [
    ...[...text.matchAll(WRITES)].flatMap(([, list = '']) => list.split(',').map(firstName)),
    ...computed(text, BROKEN_WRITES, UNSAFE, COMPUTED_WRITES, EXPORTED_BARE),
    ...named(text, tables.models, MODEL_WRITES, RENAMED),
    ...[...text.matchAll(NESTED_WRITES)].map(([, relation = '']) => tables.relations[relation] ?? COMPUTED),
    ...[...text.matchAll(BARE)].map(([, table = '']) => table)
  ])
}

/**
 * Finds every read of a table in the sources of a service: by statements, also by fragments of them, and by Prisma's models,
 * also of the relations that they include.
 *
 * @param folder looked through with all that is below it, but for generated code and tests
 */
export function findTableReads(folder: string, tables: SchemaTables): Promise<readonly TableUse[]> {
  return findUses(folder, tables, (text) => [
    ...[...text.matchAll(READS)].flatMap(([, list = '']) => list.split(',').map(firstName)),
    ...computed(text, COMPUTED_TABLE, BROKEN_READS, UNSAFE, COMPUTED_READS),
    ...named(text, tables.models, MODEL_READS, RENAMED),
    ...[...text.matchAll(QUERIES)].flatMap(({ 0: { length }, index }) =>
      named(blockAt(text, index + length), tables.relations, RELATIONS)
    ),
    ...[...text.matchAll(BARE)].map(([, table = '']) => table)
  ])
}

/**
 * The tables that more than one part of a statement writes. Of two changes of one row in one statement only one takes effect.
 *
 * @param text the whole statement, composed
 */
export function findTablesWrittenTwice(text: string): readonly string[] {
  const written = findWrittenTables(text)
  return [...new Set(written.filter((table, index) => written.indexOf(table) !== index))].sort()
}

/**
 * The tables that the parts of a statement write, one for each part.
 *
 * @param text the whole statement, composed
 */
export function findWrittenTables(text: string): readonly string[] {
  return [...text.replace(/\/\*[\s\S]*?\*\/|--.*$|'(?:[^']|'')*'/gm, '').matchAll(WRITES)].map(
    ([, table = '']) => firstName(table)
  )
}

/**
 * Finds every write of a table by Prisma's models in the sources of a service: these append no event.
 *
 * @param folder looked through with all that is below it, but for generated code and tests
 */
export function findModelWrites(folder: string, tables: SchemaTables): Promise<readonly TableUse[]> {
  return findUses(folder, tables, (text) => named(text, tables.models, MODEL_WRITES))
}

/**
 * The tables whose rows are deleted or cleared with those of another owner's table, by the foreign keys of a service.
 *
 * @param folder its migrations, with a slash at the end
 * @param owners which module owns a table
 * @returns for each, `interaction with grant_request`
 */
export async function findForeignCascades(
  folder: string,
  owners: Readonly<Record<string, string>>
): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const migrations = await Promise.all(
    entries
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => readFile(`${folder}${name}/migration.sql`, 'utf8'))
  )
  return migrations
    .flatMap((text) => text.split(/(?=^(?:create|alter) table )/m))
    .flatMap((statement) => {
      const [, table = ''] = /^(?:create|alter) table (?:only )?"?(\w+)/.exec(statement) ?? []
      return [...statement.matchAll(/references "?(\w+)"?[^,;]*?on delete (?:cascade|set)/g)].map(
        ([, referred = '']) => ({ table, referred })
      )
    })
    .filter(({ table, referred }) => owners[table] !== owners[referred])
    .map(({ table, referred }) => `${table} with ${referred}`)
}

function computed(text: string, ...patterns: readonly RegExp[]): string[] {
  return patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(() => COMPUTED))
}

function named(
  text: string,
  tables: Readonly<Record<string, string>>,
  ...patterns: readonly RegExp[]
): string[] {
  return patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(([, name = '']) => tables[name] ?? ''))
}

/** The text of a block, from behind its opening brace to its closing one. */
function blockAt(text: string, start: number): string {
  let depth = 1
  for (let at = start; at < text.length; at += 1) {
    if (text[at] === '{') depth += 1
    if (text[at] === '}') depth -= 1
    if (depth === 0) return text.slice(start, at)
  }
  return text.slice(start)
}

/** The table of one entry of a list: `only public.quote as q` is of `quote`. */
function firstName(entry: string): string {
  return (
    entry
      .trim()
      .replace(/^only\s+/i, '')
      .replace(/^"?public"?\s*\.\s*/i, '')
      .split(/\s/)[0] ?? ''
  )
}

async function findUses(
  folder: string,
  { models }: SchemaTables,
  find: (text: string) => readonly string[]
): Promise<readonly TableUse[]> {
  const names = new Set([...Object.values(models), COMPUTED])
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.includes('/generated/'))
  const found = await Promise.all(
    files.map(async (path) => {
      const text = (await readFile(path, 'utf8')).replace(COMMENTS, '')
      const knowsDatabase = KNOWS_DATABASE.test(text)
      return find(text)
        .map((table) => table.replaceAll('"', '').toLowerCase())
        .map((table) => (table.startsWith('$') ? COMPUTED : table))
        .filter((table) => names.has(table) && (table !== COMPUTED || knowsDatabase))
        .map((table) => ({ file: relative(folder, path), table }))
    })
  )
  return found.flat()
}
