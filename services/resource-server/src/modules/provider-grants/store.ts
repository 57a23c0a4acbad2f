import { instantText, placeholder, Statement } from '@open-payments-server/database'
import type { SecretBox } from '@open-payments-server/runtime/secret-box'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { GrantStore, ProviderGrant } from '../../other-providers/index.js'
import { Prisma, type Queries } from '../database.js'

/** For how long a grant is kept that is never saved again, in milliseconds. */
const KEPT_MS = 30 * 86_400_000

const AUTH_SERVER = Prisma.sql`${placeholder('authServer')}::text`

const FIND = new Statement<{ readonly sealed: string }>(
  'find-provider-grant',
  Prisma.sql`select sealed from provider_grant where auth_server = ${AUTH_SERVER}`
)

// Whoever hosts a payment names its auth server: those that nobody needs any more go a few at a time, as others come.
const SAVE = new Statement(
  'save-provider-grant',
  Prisma.sql`
  with outdated as (
    select auth_server from provider_grant
     where saved_at < ${placeholder('savedBefore')}::timestamptz and auth_server <> ${AUTH_SERVER} limit 10 for update skip locked
  ), dropped as (
    delete from provider_grant where auth_server = any (array(select auth_server from outdated))
  )
  insert into provider_grant (auth_server, sealed, saved_at)
  values (${AUTH_SERVER}, ${placeholder('sealed')}::text, ${placeholder('savedAt')}::timestamptz)
  on conflict (auth_server) do update set sealed = excluded.sealed, saved_at = excluded.saved_at`
)

const FORGET = new Statement(
  'forget-provider-grant',
  Prisma.sql`delete from provider_grant where auth_server = ${AUTH_SERVER}`
)

/** Keeps grants in the database, encrypted: all replicas use the same. One that cannot be decrypted counts as none. */
export function createGrantStore({
  database,
  secrets,
  clock
}: {
  readonly database: Queries
  readonly secrets: SecretBox
  readonly clock: Clock
}): GrantStore {
  return {
    async find(authServer) {
      const [row] = await FIND.rows(database, { authServer })
      if (row === undefined) return undefined
      try {
        return JSON.parse(await secrets.open(authServer, row.sealed)) as ProviderGrant
      } catch {
        // It was encrypted with a key that is no longer known. Another grant takes its place.
        return undefined
      }
    },
    async save(authServer, grant) {
      const nowMs = clock.now()
      await SAVE.rows(database, {
        authServer,
        sealed: await secrets.seal(authServer, JSON.stringify(grant)),
        savedAt: instantText(nowMs),
        savedBefore: instantText(nowMs - KEPT_MS)
      })
    },
    async forget(authServer) {
      await FORGET.rows(database, { authServer })
    }
  }
}
