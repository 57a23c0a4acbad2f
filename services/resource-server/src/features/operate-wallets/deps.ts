import type { Clock, Random } from '@open-payments-server/runtime'
import type { Pool } from 'pg'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import type { PrismaClient } from '../../generated/prisma/client.js'

/** What operators' calls need. */
export interface OperatorDeps {
  readonly prisma: PrismaClient
  /** The pool that `prisma` works on. */
  readonly pool: Pool
  readonly urls: ResourceUrls
  readonly clock: Clock
  readonly random: Random
}
