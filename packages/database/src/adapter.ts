import { createHash } from 'node:crypto'
import { PrismaPg } from '@prisma/adapter-pg'
import type { Pool } from 'pg'
import type { Pooler } from './pool.js'
import { statementNameOf } from './statement.js'

/** Most texts of Prisma's models that are prepared. */
const MODEL_TEXTS_MAX = 200
/** Texts that change with the number of their values: prepared, each length would stay with every connection. */
const LIST_OF_VALUES = / IN \(|\),\s*\(/

/** Begins the names of statements that Prisma's models wrote, which say nothing to people. */
export const MODEL_STATEMENT = 'model-'

/**
 * What a service's `PrismaClient` reaches its database through: the pool, whose limits, traces and connections stay as they are.
 * Statements are prepared once on each connection, but for those behind a pooler that gives every transaction another session.
 *
 * @param pool from `createPool`; who made it ends it
 */
export function createPrismaAdapter(pool: Pool, pooler: Pooler): PrismaPg {
  if (pooler === 'transaction') return new PrismaPg(pool)
  const modelNames = new Map<string, string>()
  return new PrismaPg(pool, {
    statementNameGenerator: ({ sql }) => statementNameOf(sql) ?? modelStatementName(sql, modelNames)
  })
}

/** @returns an empty name for what is not prepared */
function modelStatementName(text: string, names: Map<string, string>): string {
  const known = names.get(text)
  if (known !== undefined) return known
  if (names.size >= MODEL_TEXTS_MAX || LIST_OF_VALUES.test(text)) return ''
  const name = MODEL_STATEMENT + createHash('sha256').update(text).digest('base64url').slice(0, 22)
  names.set(text, name)
  return name
}
