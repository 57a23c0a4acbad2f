/** Composes fragments of statements that belong to no service's client: the same as its `Prisma.sql` and `Prisma.raw`. */
export { raw as rawSql, type Sql, sqltag as sql } from '@prisma/client/runtime/client'
