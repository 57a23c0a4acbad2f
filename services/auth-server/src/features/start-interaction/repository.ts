import type { Pool } from 'pg'

/** Binds interactions to browsers. */
export interface StartInteractionRepository {
  /**
   * Keeps which browser opened an interaction first.
   *
   * @param browserHash SHA-256 of the cookie it is given
   * @returns whether it was this one: false when another was first
   */
  bind(interactionId: string, browserHash: Buffer): Promise<boolean>
}

/** Writes to PostgreSQL. */
export function createStartInteractionRepository(pool: Pool): StartInteractionRepository {
  return {
    async bind(interactionId, browserHash) {
      // The row decides between browsers that race, which Prisma's `update` by key cannot ask for.
      const { rowCount } = await pool.query(
        'update interaction set browser_hash = $2 where id = $1 and browser_hash is null',
        [interactionId, browserHash]
      )
      return rowCount === 1
    }
  }
}
