import { formatAccessItem } from '../../domain/access.js'
import { readClientName } from '../../domain/frozen-clients.js'
import type { ServiceAddresses } from '../../domain/urls.js'
import type { Queries } from '../../modules/database.js'
import type { EventContent, StoredEvent } from '../../modules/events/index.js'
import { readToldClients, type ToldClient } from '../../modules/frozen-clients/index.js'
import { type OperatedGrant, readToldGrants } from '../../modules/grants/index.js'

/** What completing events needs. */
export interface CompleteEventsDependencies {
  readonly database: Queries
  readonly addresses: Pick<ServiceAddresses, 'continueUri'>
}

/** What begins the types of events about clients. All others are about grants. */
const ABOUT_CLIENTS = 'client.'

/**
 * Completes events with the grants and the clients that they tell of, as they were then. Contains no token and no secret.
 *
 * @returns the content of each event, in their order
 */
export async function completeEvents(
  events: readonly StoredEvent[],
  { database, addresses }: CompleteEventsDependencies
): Promise<readonly EventContent[]> {
  const aboutClients = events.filter(({ type }) => type.startsWith(ABOUT_CLIENTS))
  const aboutGrants = events.filter(({ type }) => !type.startsWith(ABOUT_CLIENTS))
  const clients = await readToldClients(database, aboutClients)
  const grants = await readToldGrants(database, aboutGrants)
  const contents = new Map<StoredEvent, EventContent>()
  aboutClients.forEach((event, index) => contents.set(event, contentOfClient(event, clients[index])))
  aboutGrants.forEach((event, index) => {
    const subject = addresses.continueUri(event.subjectId)
    const grant = grants[index]
    contents.set(event, { subject, data: grant === undefined ? null : { id: subject, ...render(grant) } })
  })
  return events.map((event) => contents.get(event) ?? { subject: event.subjectId, data: null })
}

function contentOfClient({ subjectId }: StoredEvent, told: ToldClient | undefined): EventContent {
  if (told === undefined) return { subject: `urn:uuid:${subjectId}`, data: null }
  const { walletAddress, jwkThumbprint } = readClientName(told.client)
  // RFC 9278.
  const subject = walletAddress ?? `urn:ietf:params:oauth:jwk-thumbprint:sha-256:${jwkThumbprint ?? ''}`
  const client = walletAddress === undefined ? { jwkThumbprint } : { walletAddress }
  return { subject, data: { id: subject, client, ...told.freeze } }
}

function render(grant: OperatedGrant): object {
  const { clientWalletAddress, clientJwkThumbprint } = grant
  return {
    grantId: grant.id,
    state: grant.state,
    client:
      clientWalletAddress === null
        ? { jwkThumbprint: clientJwkThumbprint }
        : { walletAddress: clientWalletAddress },
    access: grant.access.map(formatAccessItem),
    createdAt: new Date(grant.createdAtMs).toISOString(),
    updatedAt: new Date(grant.updatedAtMs).toISOString()
  }
}
