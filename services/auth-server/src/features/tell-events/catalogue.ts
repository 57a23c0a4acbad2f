import {
  AMOUNT_SCHEMA as amount,
  AUDIT_SCHEMA,
  type EventCatalogue,
  exampleOfAudit
} from '@open-payments-server/events'
import { ENDPOINT_SCHEMA, EXAMPLE_OF_ENDPOINT } from '@open-payments-server/webhooks'
import { z } from 'zod'
import type { EventType } from '../../domain/event-types.js'

const instant = z.iso.datetime()

const grant = z.strictObject({
  id: z.url().describe('The URL at which its client continues it. Nobody can without its token.'),
  grantId: z.uuid(),
  state: z.enum(['pending', 'approved', 'issued', 'rejected', 'revoked']),
  client: z.union([
    z.strictObject({ walletAddress: z.url() }),
    z.strictObject({
      jwkThumbprint: z.string().describe('Of its key (RFC 7638), where it has no wallet address.')
    })
  ]),
  access: z.array(
    z.strictObject({
      type: z.enum(['incoming-payment', 'outgoing-payment', 'quote']),
      actions: z.array(z.string()),
      identifier: z.url().optional(),
      limits: z
        .strictObject({
          receiver: z.url().optional(),
          interval: z.string().optional(),
          debitAmount: amount.optional(),
          receiveAmount: amount.optional()
        })
        .optional()
    })
  ),
  createdAt: instant,
  updatedAt: instant
})

const use = z
  .strictObject({
    paymentId: z.uuid(),
    walletAddress: z.url().describe('Whose money it is.'),
    receiver: z.url().describe('The incoming payment that is paid.'),
    accessIndex: z.int().min(0).describe('Which item of `access` it counts against, from 0.'),
    intervalStartsAt: instant.optional(),
    intervalEndsAt: instant.optional(),
    debitAmount: amount.describe('Reserved to be debited.'),
    receiveAmount: amount.describe('Reserved to be received.'),
    spentDebitAmount: amount.describe('Spent of the item in the interval, this payment included.'),
    spentReceiveAmount: amount.optional(),
    remainingDebitAmount: amount.optional().describe('Left of the limit; absent without one.'),
    remainingReceiveAmount: amount.optional(),
    limits: z
      .array(z.enum(['debitAmount', 'receiveAmount']))
      .optional()
      .describe('The limits that this payment brought to what is told.')
  })
  .describe('The payment that used it.')

const usedGrant = z.strictObject({ ...grant.shape, use })
const expiringGrant = z.strictObject({
  ...grant.shape,
  endsAt: instant.describe('When nothing can be paid under it any more.')
})

const loweredGrant = z.strictObject({
  ...grant.shape,
  endsAt: instant.optional().describe('When it ends, if an account holder set that.')
})

const frozenClient = z.strictObject({
  id: z.string().describe('The URL of its wallet address, or the thumbprint of its key as a URN (RFC 9278).'),
  client: grant.shape.client,
  frozen: z.boolean(),
  by: z.string().describe('Name of whoever ordered it, as in their certificate.'),
  reason: z.string()
})

const [EARLIER, NOW] = ['2026-11-24T09:29:12.100Z', '2026-11-24T09:30:00.000Z']
const GRANT_ID = '4f1c2d3e-7b8a-4c9d-8e0f-1a2b3c4d5e6f'
const GRANT = `https://auth.wallet.example/continue/${GRANT_ID}`

const granting = (state: string) => ({
  subject: GRANT,
  data: {
    id: GRANT,
    grantId: GRANT_ID,
    state,
    client: { walletAddress: 'https://shop.example/pay' },
    access: [
      {
        type: 'outgoing-payment',
        actions: ['create', 'read'],
        identifier: 'https://wallet.example/alice',
        limits: {
          interval: 'R12/2026-12-01T00:00:00Z/P1M',
          debitAmount: { value: '5000', assetCode: 'USD', assetScale: 2 }
        }
      }
    ],
    createdAt: EARLIER,
    updatedAt: NOW
  }
})

const using = (spent: string, remaining: string, limits?: readonly string[]) => {
  const usd = (value: string) => ({ value, assetCode: 'USD', assetScale: 2 })
  const { subject, data } = granting('issued')
  const taken = {
    paymentId: '019ab32d-9c00-7a41-8d2e-6b1f0c7d5e94',
    walletAddress: 'https://wallet.example/alice',
    receiver: 'https://wallet.example/incoming-payments/019ab32d-9c00-7a41-8d2e-6b1f0c7d5e95',
    accessIndex: 0,
    intervalStartsAt: '2026-12-01T00:00:00.000Z',
    intervalEndsAt: '2027-01-01T00:00:00.000Z',
    debitAmount: usd('1000'),
    receiveAmount: usd('1000'),
    spentDebitAmount: usd(spent),
    spentReceiveAmount: usd(spent),
    remainingDebitAmount: usd(remaining)
  }
  return { subject, data: { ...data, use: limits === undefined ? taken : { ...taken, limits } } }
}

const expiring = () => {
  const { subject, data } = granting('issued')
  return { subject, data: { ...data, endsAt: '2027-12-01T00:00:00.000Z' } }
}

const lowering = () => {
  const { subject, data } = granting('issued')
  return { subject, data: { ...data, endsAt: '2027-06-01T00:00:00.000Z' } }
}

const freezing = (frozen: boolean) => {
  const walletAddress = 'https://shop.example/pay'
  const order = { frozen, by: 'spiffe://wallet.example/operator', reason: 'ticket 4711' }
  return { subject: walletAddress, data: { id: walletAddress, client: { walletAddress }, ...order } }
}

/** What each type of event tells, with an example. A member may be added; none is changed or removed. */
export const EVENT_CATALOGUE: EventCatalogue<EventType> = {
  'grant.requested': { data: grant, example: granting('pending') },
  'grant.approved': { data: grant, example: granting('approved') },
  'grant.declined': { data: grant, example: granting('rejected') },
  'grant.used': { data: usedGrant, example: using('2000', '3000') },
  'grant.threshold': { data: usedGrant, example: using('4000', '1000', ['debitAmount']) },
  'grant.exhausted': { data: usedGrant, example: using('5000', '0', ['debitAmount']) },
  'grant.expiring': { data: expiringGrant, example: expiring() },
  'grant.paused': { data: grant, example: granting('issued') },
  'grant.resumed': { data: grant, example: granting('issued') },
  'grant.lowered': { data: loweredGrant, example: lowering() },
  'grant.stopped': { data: grant, example: granting('revoked') },
  'grant.ended': { data: grant, example: granting('revoked') },
  'token.issued': { data: grant, example: granting('issued') },
  'token.rotated': { data: grant, example: granting('issued') },
  'token.revoked': { data: grant, example: granting('issued') },
  'client.frozen': { data: frozenClient, example: freezing(true) },
  'client.unfrozen': { data: frozenClient, example: freezing(false) },
  'audit.passed': { data: AUDIT_SCHEMA, example: exampleOfAudit(true) },
  'audit.failed': { data: AUDIT_SCHEMA, example: exampleOfAudit(false) },
  'webhook_endpoint.disabled': { data: ENDPOINT_SCHEMA, example: EXAMPLE_OF_ENDPOINT }
}
