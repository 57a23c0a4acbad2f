import { instantText, placeholder, Statement } from '@open-payments-server/database'
import type { Logger } from '@open-payments-server/runtime'
import type { Acting } from '@open-payments-server/service-kit/operators'
import type { Clock } from '@open-payments-server/value-types/clock'
import { newId, type Random } from '@open-payments-server/value-types/identifiers'
import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import { nameClient, type OperatedClient } from '../../domain/frozen-clients.js'
import type { RevocationBus } from '../../domain/revocations.js'
import { normalizeWalletAddress } from '../../domain/urls.js'
import { Prisma, type Queries } from '../../modules/database.js'
import { appended } from '../../modules/events/index.js'
import { findClientFreeze, freezeEvents, freezes, wasFrozen } from '../../modules/frozen-clients/index.js'
import { hasGrant } from '../../modules/grants/index.js'

/** Maximum length of the reason for a freeze, in characters. */
const REASON_LENGTH_MAX = 256

/** Maximum length of the names of who orders a freeze, in characters: what goes beyond that is cut off. */
const NAMES_LENGTH_MAX = 512

/** What freezing clients needs. */
export interface FreezeClientDependencies {
  readonly database: Queries
  readonly revocations: Pick<RevocationBus, 'publish'>
  readonly clock: Clock
  readonly random: Random
  readonly logger: Pick<Logger, 'info'>
  /** Signals that there are events to publish. */
  readonly onEventsAppended: () => void
}

/** An operator's order. */
export interface FreezeRequest {
  /** Whether it freezes, or ends a freeze. */
  readonly freezes: boolean
  /** URL of the client's wallet address, or its key's thumbprint (RFC 7638), with or without `jwk:` before it. */
  readonly client: string
  readonly reason: string
  /** Ends only the freeze since then, in milliseconds since the Unix epoch; undefined for whichever there is. */
  readonly sinceMs: number | undefined
  /** Who orders it: a person, or the names in a machine's certificate; none for a machine in plain text. */
  readonly clientNames: readonly string[]
}

const CLIENT = Prisma.sql`${placeholder('client')}::text`
const NAMED = Prisma.sql`named.client`

/** One statement, with the event of it. */
const FREEZE = new Statement<{ known: boolean; changed: boolean }>(
  'freeze-client',
  Prisma.sql`
  with known as (
    select client from (values (${CLIENT})) as named (client)
     where ${hasGrant(NAMED)} or ${wasFrozen(NAMED)}
  ), ${freezes}, ${appended(freezeEvents)}
  select exists (select 1 from known) as known, exists (select 1 from changed) as changed`,
  { prepared: false }
)

/**
 * Freezes a client, or ends its freeze, and tells everyone who caches answers about its tokens. Repeating it has no further
 * effect: the first freeze stays as it was ordered.
 *
 * @returns the client after it
 * @throws CallRefused `invalid`; `not-found` for a client that has no grant and was never frozen; `another-freeze` where another one stands
 *   than the one to end
 */
export async function freezeClient(
  request: FreezeRequest,
  dependencies: FreezeClientDependencies & Acting
): Promise<OperatedClient> {
  const { freezes: doesFreeze, reason, sinceMs, clientNames } = request
  const { database, clock, random, revocations, logger, onEventsAppended } = dependencies
  assertReason(reason)
  const client = readClient(request.client)
  const [result] = await FREEZE.rows(database, {
    client,
    freezes: doesFreeze,
    id: newId(clock, random),
    by: clientNames.join(', ').slice(0, NAMES_LENGTH_MAX),
    reason,
    since: sinceMs === undefined ? null : instantText(sinceMs),
    now: instantText(clock.now())
  })
  if (result?.known !== true) throw unknownClient()
  if (result.changed) {
    logger.info({ client, reason, by: clientNames }, doesFreeze ? 'frozen' : 'no longer frozen')
    onEventsAppended()
  } else dependencies.onUnchanged()
  const found = await findClientFreeze(database, client)
  if (sinceMs !== undefined && found.freeze !== undefined)
    throw new CallRefused('another-freeze', 'the client was frozen anew: that is another freeze', {
      field: 'freeze_time'
    })
  await revocations.publish({ kind: 'client', client })
  return found
}

/**
 * Finds a client by what an operator calls it, whether it is known or not.
 *
 * @throws CallRefused `not-found` for a text that names none
 */
export async function findOperatedClient(
  text: string,
  { database }: Pick<FreezeClientDependencies, 'database'>
): Promise<OperatedClient> {
  return findClientFreeze(database, readClient(text))
}

function assertReason(reason: string): void {
  // eslint-disable-next-line no-control-regex -- because control characters are what must not be in a reason
  if (reason.length <= REASON_LENGTH_MAX && !/[\u0000-\u001f\u007f]/.test(reason)) return
  throw invalidCallField(
    'reason',
    `must be at most ${String(REASON_LENGTH_MAX)} characters, none of them control characters`
  )
}

/** A thumbprint: SHA-256, base64url. */
const THUMBPRINT = /^(?:jwk:)?([\w-]{43})$/

/** The one name of a client, whichever of its names an operator calls it by; undefined for a text that names none. */
export function findClientName(text: string): string | undefined {
  const [, jwkThumbprint] = THUMBPRINT.exec(text) ?? []
  if (jwkThumbprint !== undefined) return nameClient({ walletAddress: undefined, jwkThumbprint })
  const walletAddress = normalizeWalletAddress(text)
  return walletAddress && nameClient({ walletAddress, jwkThumbprint: undefined })
}

function readClient(text: string): string {
  const client = findClientName(text)
  if (client === undefined) throw unknownClient()
  return client
}

function unknownClient(): CallRefused {
  return new CallRefused('not-found', 'there is no such client', { field: 'client' })
}
