import { formatAccessItem } from '../../domain/access.js'
import type { EventType } from '../../domain/event-types.js'
import { readClientName } from '../../domain/frozen-clients.js'
import { type GrantUse, renderGrantUse, THRESHOLD_PERCENT } from '../../domain/grant-use.js'
import type { ServiceAddresses } from '../../domain/urls.js'
import type { Queries } from '../../modules/database.js'
import { completeAudit, type EventContent, type StoredEvent } from '../../modules/events/index.js'
import { readToldClients, type ToldClient } from '../../modules/frozen-clients/index.js'
import { type OperatedGrant, readToldGrants } from '../../modules/grants/index.js'
import { readToldUses } from '../../modules/limits/index.js'

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
  const aboutGrants = events.filter(({ type }) => !/^(?:client|audit)\./.test(type))
  const [clients, grants, uses] = await Promise.all([
    readToldClients(database, aboutClients),
    readToldGrants(database, aboutGrants),
    readToldUses(database, aboutGrants)
  ])
  const contents = new Map<StoredEvent, EventContent>()
  aboutClients.forEach((event, index) => contents.set(event, contentOfClient(event, clients[index])))
  aboutGrants.forEach((event, index) => {
    const { subjectId, type, change } = event
    const subject = addresses.continueUri(subjectId)
    const grant = grants[index]
    const data = grant && {
      id: subject,
      ...render(grant),
      ...renderUse(type, uses[index], grant),
      ...renderEnd(change)
    }
    contents.set(event, { subject, data: data ?? null })
  })
  return events.map((event) => contents.get(event) ?? completeAudit(event))
}

function contentOfClient({ subjectId }: StoredEvent, told: ToldClient | undefined): EventContent {
  if (told === undefined) return { subject: `urn:uuid:${subjectId}`, data: null }
  const { walletAddress, jwkThumbprint } = readClientName(told.client)
  // RFC 9278.
  const subject = walletAddress ?? `urn:ietf:params:oauth:jwk-thumbprint:sha-256:${jwkThumbprint ?? ''}`
  const client = walletAddress === undefined ? { jwkThumbprint } : { walletAddress }
  return { subject, data: { id: subject, client, ...told.freeze } }
}

/** When nothing can be paid any more, where that is told. */
function renderEnd(change: StoredEvent['change']): object {
  return typeof change?.endsAt === 'string' ? { endsAt: new Date(change.endsAt).toISOString() } : {}
}

/** The part of a limit, in percent, that an event says is reached. */
const REACHED_PERCENT: ReadonlyMap<string, number> = new Map<EventType, number>([
  ['grant.threshold', THRESHOLD_PERCENT],
  ['grant.exhausted', 100]
])

function renderUse(type: string, use: GrantUse | undefined, { access }: OperatedGrant): object {
  if (use === undefined) return {}
  const item = access[use.accessIndex]
  return item === undefined ? {} : { use: renderGrantUse(use, item, REACHED_PERCENT.get(type)) }
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
