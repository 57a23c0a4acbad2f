import { events, type wallet } from '@open-payments-server/proto'
import type { Block, Cell } from '../../pages/console/blocks.js'
import type { Operated, ServiceName } from '../operated.js'
import { NONE } from './show.js'
import type { Visit } from './visit.js'

/** Entries of the ledger as a table. */
export function entryTable({ t, show }: Visit, entries: readonly wallet.LedgerEntry[], next?: string): Block {
  return {
    kind: 'table',
    title: t('entries'),
    empty: t('noEntries'),
    next,
    columns: [
      { label: t('created') },
      { label: t('kind') },
      { label: t('state') },
      { label: t('debited') },
      { label: t('credited') },
      { label: t('amount'), isNumber: true },
      { label: t('posted'), isNumber: true },
      { label: t('payment') }
    ],
    rows: entries.map((entry) => [
      show.instant(entry.createTime),
      entry.kind.replaceAll('_', ' '),
      show.state(entry.state),
      accountCell(entry.debitAccount),
      accountCell(entry.creditAccount),
      show.money(entry.value, entry.asset),
      show.money(entry.postedValue, entry.asset),
      isOfPayment(entry) ? show.payment(entry.paymentId) : NONE
    ])
  }
  function accountCell(name: string): string | Cell {
    return PROVIDERS.has(name) ? name.replaceAll('_', ' ') : show.account(name)
  }
}

/** The kinds of the provider's accounts, which have no page. */
const PROVIDERS: ReadonlySet<string> = new Set([
  ...['outside', 'clearing', 'exchange', 'fees'],
  ...['peer_receivable', 'peer_payable']
])

function isOfPayment({ kind, paymentId }: wallet.LedgerEntry): boolean {
  return paymentId !== '' && ['payment', 'fee', 'delivery', 'conversion'].includes(kind)
}

/** Events of a resource, and attempts to deliver them. */
export interface Told {
  readonly events: readonly events.Event[]
  readonly attempts: readonly events.EventAttempt[]
}

/** Reads what was told of a resource, of its id (UUID). */
export async function readEvents(operated: Operated, service: ServiceName, subjectId: string): Promise<Told> {
  const request = events.ListSubjectEventsRequest.fromPartial({ subjectId })
  const found = await operated.events(service, 'listSubjectEvents', request)
  const eventIds = found.events.map(({ id }) => id)
  const { attempts } =
    eventIds.length === 0
      ? { attempts: [] }
      : await operated.webhooks(service, 'listEventAttempts', { eventIds })
  return { events: found.events, attempts }
}

/** Events as a table. */
export function eventTable({ t, show }: Visit, { events: told }: Told): Block {
  return {
    kind: 'table',
    title: t('events'),
    empty: t('noEvents'),
    columns: [{ label: t('at') }, { label: t('event') }, { label: t('trace') }, { label: t('id') }],
    rows: told.map(({ time, type, traceparent, id }) => [
      show.instant(time),
      type,
      { text: traceparent === '' ? NONE : (traceparent.split('-')[1] ?? ''), isCode: true },
      { text: id, isCode: true }
    ])
  }
}

/** Attempts to deliver them as a table. */
export function deliveryTable({ t, show }: Visit, { attempts }: Told): Block {
  return {
    kind: 'table',
    title: t('deliveries'),
    empty: t('noDeliveries'),
    columns: [
      { label: t('at') },
      { label: t('event') },
      { label: t('result') },
      { label: t('took'), isNumber: true },
      { label: t('endpoint') }
    ],
    rows: attempts.flatMap(({ attempt, url }) =>
      attempt === undefined
        ? []
        : [
            [
              show.instant(attempt.attemptedAt),
              attempt.eventType,
              attemptCell(attempt),
              `${String(attempt.durationMs)} ms`,
              url
            ]
          ]
    )
  }
}

/** How an attempt ended. */
export function attemptCell({ status, failure }: events.WebhookAttempt): Cell {
  const answered = status === 0 ? '' : String(status)
  return failure === ''
    ? { text: answered, tone: 'good' }
    : { text: answered === '' ? failure : `${answered} ${failure}`, tone: 'bad' }
}
