import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createTestDatabase, type TestDatabase } from '@open-payments-server/testing'

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))
const SERVICES = ['auth-server', 'resource-server']

let databases: readonly TestDatabase[]
beforeAll(async () => {
  databases = await Promise.all(
    SERVICES.map((service) =>
      createTestDatabase({ migrationsPath: join(ROOT, 'services', service, 'prisma', 'migrations') })
    )
  )
}, 300_000)
afterAll(() => Promise.all(databases.map((database) => database.drop())))

describe('the documents', () => {
  it('show only statements that PostgreSQL accepts in one of the two databases', async () => {
    const statements = await documentedStatements()
    expect(statements.length).toBeGreaterThan(15)
    const refused: unknown[] = []
    for (const { page, text } of statements) {
      const errors = await Promise.all(databases.map((database) => tryStatement(database, text)))
      if (errors.every((error) => error !== undefined)) refused.push({ page, text, errors })
    }
    expect(refused).toEqual([])
  })
})

interface DocumentedStatement {
  readonly page: string
  readonly text: string
}

/** The statements in the SQL blocks of every page, and those between backquotes in its sentences. */
async function documentedStatements(): Promise<DocumentedStatement[]> {
  const names = await readdir(join(ROOT, 'docs'), { recursive: true })
  const found: DocumentedStatement[] = []
  for (const page of names.filter((name) => name.endsWith('.md'))) {
    const text = await readFile(join(ROOT, 'docs', page), 'utf8')
    const blocks = [...text.matchAll(/^ *```sql\n([^]*?)```/gm)].map(([, block = '']) =>
      block.replaceAll(/^ *--.*$/gm, '')
    )
    const sentences = [...text.matchAll(/`((?:alter|delete|insert|select|update) [^`]*)`/g)].map(
      ([, statement = '']) => statement
    )
    for (const statement of [...blocks, ...sentences].flatMap((part) => part.split(/;\s*(?:\n|$)/))) {
      if (statement.trim() !== '') found.push({ page, text: statement.trim() })
    }
  }
  return found
}

/** Runs a statement with null for each placeholder, and rolls it back. @returns why it was refused */
async function tryStatement(database: TestDatabase, text: string): Promise<string | undefined> {
  const filled = text
    .replaceAll("'…'", 'null')
    .replaceAll('(…)', '(null)')
    .replaceAll(/<[a-z]+>/g, 'null')
    .replaceAll('…', 'current_user')
    .replaceAll('role auth_server', 'role current_user')
  try {
    await database.query(`begin; ${filled}; rollback`)
    return undefined
  } catch (error) {
    await database.query('rollback')
    return error instanceof Error ? error.message : String(error)
  }
}
