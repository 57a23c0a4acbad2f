import { placeholder, readBytes, Statement } from '@open-payments-server/database'
import { snakeCase } from '@open-payments-server/runtime'
import type { RequestCause } from '../../domain/given-up.js'
import type { OutgoingPayment } from '../../domain/outgoing-payment.js'
import type { ResourceUrls } from '../../domain/resource-urls.js'
import { Prisma, type Queries } from '../database.js'
import { givingUp, stoodFor } from '../grant-outcomes/index.js'
import type { NewPayment } from './create.js'
import {
  OUTGOING_PAYMENT_COLUMNS,
  OUTGOING_PAYMENT_JOINS,
  type OutgoingPaymentRow,
  readOutgoingPaymentRow
} from './row.js'

/** A payment found in place of another. */
export interface FoundPayment {
  readonly payment: OutgoingPayment
  readonly requestHash: Buffer
  /** Id (UUID) of the grant it was made under. */
  readonly grantId: string
  /** Whether it was found by its own id or one that stands for it, or only by the signed request. */
  readonly knownBy: 'id' | 'signature'
}

interface TwinRow extends OutgoingPaymentRow {
  readonly request_hash: string
  readonly grant_id: string
  readonly known_by_id: boolean
}

const IDS = Prisma.sql`${placeholder('ids')}::uuid[]`
const STOOD_FOR = stoodFor(IDS)

/** One statement, because what it finds by id, by alias and by signed request must be of one instant. */
const TWIN = new Statement<TwinRow>(
  'find-twin-payment',
  Prisma.sql`
  select ${OUTGOING_PAYMENT_COLUMNS}, p.request_hash, p.grant_id, p.id = any(${STOOD_FOR}) as known_by_id
    from outgoing_payment p ${OUTGOING_PAYMENT_JOINS}
   where p.id = any(${IDS} || ${STOOD_FOR}) or p.signature_id = ${placeholder('signatureId')}::uuid
   order by p.id = any(${IDS}) desc, p.id = any(${STOOD_FOR}) desc limit 1`
)

/** Finds the payment of one of some ids (UUID), else the one that such an id stands for, else that of a signed request. */
export async function findTwin(
  on: Queries,
  { ids, signatureId }: { readonly ids: readonly string[]; readonly signatureId: string },
  urls: ResourceUrls
): Promise<FoundPayment | undefined> {
  const [row] = await TWIN.rows(on, { ids, signatureId })
  return (
    row && {
      payment: readOutgoingPaymentRow(row, urls),
      requestHash: readBytes(row.request_hash),
      grantId: row.grant_id,
      knownBy: ids.includes(row.id) || row.known_by_id ? 'id' : 'signature'
    }
  )
}

/** One statement, so that the payment that the id stands for is looked up as the id is given up. */
const GIVE_UP = new Statement(
  'give-up-payment-id',
  givingUp(
    Prisma.sql`(select p.id from outgoing_payment p
                 where p.signature_id = ${placeholder('signatureId')}::uuid and p.id <> given.id)`
  )
)

/**
 * Gives up a payment id: no payment will ever be created under it, and its reservation will be released. If the signed
 * request has a payment, the id stands for it from then on.
 *
 * @returns false when the id belongs to a payment or was given up before
 */
export async function giveUpPayment(
  on: Queries,
  { id, signatureId }: Pick<NewPayment, 'id' | 'signatureId'>,
  cause: RequestCause
): Promise<boolean> {
  return (await GIVE_UP.rows(on, { ids: [id], signatureId, cause: snakeCase(cause) })).length === 1
}
