import { formatAccessItem } from '../../domain/access.js'
import type { ServiceAddresses } from '../../domain/urls.js'
import type { Queries } from '../../modules/database.js'
import { completeAudit, type EventContent, type StoredEvent } from '../../modules/events/index.js'
import { type OperatedGrant, readToldGrants } from '../../modules/grants/index.js'

/** What completing events needs. */
export interface CompleteEventsDependencies {
  readonly database: Queries
  readonly addresses: Pick<ServiceAddresses, 'continueUri'>
}

/**
 * Completes events with what they tell of, grants as they were then. Contains no token and no secret.
 *
 * @returns the content of each event, in their order
 */
export async function completeEvents(
  events: readonly StoredEvent[],
  { database, addresses }: CompleteEventsDependencies
): Promise<readonly EventContent[]> {
  const grants = await readToldGrants(database, events)
  return events.map((event, index) => {
    if (event.type.startsWith('audit.')) return completeAudit(event)
    const subject = addresses.continueUri(event.subjectId)
    const grant = grants[index]
    return { subject, data: grant === undefined ? null : { id: subject, ...render(grant) } }
  })
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
