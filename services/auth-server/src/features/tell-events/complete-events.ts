import { formatAccessItem } from '../../domain/access.js'
import type { EventType } from '../../domain/event-types.js'
import { type GrantUse, renderGrantUse, THRESHOLD_PERCENT } from '../../domain/grant-use.js'
import type { ServiceAddresses } from '../../domain/urls.js'
import type { Queries } from '../../modules/database.js'
import { completeAudit, type EventContent, type StoredEvent } from '../../modules/events/index.js'
import { type OperatedGrant, readToldGrants } from '../../modules/grants/index.js'
import { readToldUses } from '../../modules/limits/index.js'

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
  const [grants, uses] = await Promise.all([readToldGrants(database, events), readToldUses(database, events)])
  return events.map((event, index) => {
    const { subjectId, type, change } = event
    if (type.startsWith('audit.')) return completeAudit(event)
    const subject = addresses.continueUri(subjectId)
    const grant = grants[index]
    if (grant === undefined) return { subject, data: null }
    return {
      subject,
      data: { id: subject, ...render(grant), ...renderUse(type, uses[index], grant), ...renderEnd(change) }
    }
  })
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
