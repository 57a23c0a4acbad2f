import {
  AMOUNT_SCHEMA as amount,
  AUDIT_SCHEMA,
  type EventCatalogue,
  exampleOfAudit
} from '@open-payments-server/events'
import { ENDPOINT_SCHEMA, EXAMPLE_OF_ENDPOINT } from '@open-payments-server/webhooks'
import { z } from 'zod'
import type { EventType } from '../../domain/event-types.js'
import { FAILURE_REASONS, type FailureReason } from '../../domain/failure-reasons.js'

const instant = z.iso.datetime()
const metadata = z.record(z.string(), z.unknown()).optional()

const refund = z.strictObject({
  id: z.string().describe('A URN: its payments show all of it.'),
  refundOf: z.url().describe('The outgoing payment whose delivery it gives back.'),
  payment: z.url().optional().describe("The client's payment that makes it; absent for one of the provider."),
  state: z.enum(['pending', 'completed', 'failed']),
  value: z.string().describe('What was asked for, in the smallest unit of the asset of `refundAmount`.'),
  refundAmount: amount.describe('What it took from the receiver, or is to take.'),
  returnedAmount: amount.optional().describe('What the payer got for it.'),
  returnedFeeAmount: amount.optional().describe('What the payer got of the fee.'),
  createdAt: instant,
  updatedAt: instant
})
const refunds = {
  refundOf: z.url().optional().describe('The outgoing payment that it refunds.'),
  refundedAmount: amount.optional().describe('What refunds took, or are to take, all together.'),
  refunds: z.array(refund).optional()
}

const incomingPayment = z.strictObject({
  ...refunds,
  id: z.url(),
  walletAddress: z.url(),
  completed: z.boolean(),
  incomingAmount: amount.optional(),
  receivedAmount: amount,
  expiresAt: instant,
  metadata,
  createdAt: instant,
  updatedAt: instant
})

const outgoingPayment = z.strictObject({
  ...refunds,
  id: z.url(),
  walletAddress: z.url(),
  quoteId: z.url().optional(),
  receiver: z.url(),
  receiveAmount: amount,
  debitAmount: amount,
  failed: z.boolean(),
  state: z
    .literal('awaiting_approval')
    .optional()
    .describe('Only while it awaits the approval of the provider.'),
  failureReason: z
    .enum(Object.keys(FAILURE_REASONS) as [FailureReason, ...FailureReason[]])
    .optional()
    .describe('More reasons may be added.'),
  sentAmount: amount,
  metadata,
  createdAt: instant,
  updatedAt: instant
})

const quote = z.strictObject({
  id: z.url(),
  walletAddress: z.url(),
  receiver: z.url(),
  receiveAmount: amount,
  debitAmount: amount,
  method: z.string(),
  expiresAt: instant,
  createdAt: instant
})

const key = z.strictObject({
  walletAddress: z.url(),
  key: z
    .strictObject({
      kid: z.string(),
      alg: z.literal('EdDSA'),
      use: z.literal('sig'),
      kty: z.literal('OKP'),
      crv: z.literal('Ed25519'),
      x: z.string()
    })
    .describe('As the wallet address publishes it (RFC 7517).'),
  createdAt: instant,
  revokedAt: instant.optional()
})

const usd = (value: string) => ({ value, assetCode: 'USD', assetScale: 2 })
const [EARLIER, NOW, LATER] = [
  '2026-11-24T09:29:58.400Z',
  '2026-11-24T09:30:00.000Z',
  '2026-12-24T09:29:58.400Z'
]
const ALICE = 'https://wallet.example/alice'
const BOB = 'https://wallet.example/bob'
const RECEIVER = 'https://wallet.example/incoming-payments/0b1c4a52-3f0e-4c52-9a7d-1f7c8f6a2e11'
const PAYMENT = 'https://wallet.example/outgoing-payments/6c9f0d1e-8a51-5b7e-b0c4-2f6f1f9a7c33'
const QUOTE = 'https://wallet.example/quotes/3d2f7b90-5c1a-4e44-8f0b-7a9f2c1d6e22'

const receiving = {
  subject: RECEIVER,
  data: {
    id: RECEIVER,
    walletAddress: BOB,
    completed: false,
    incomingAmount: usd('5000'),
    receivedAmount: usd('0'),
    expiresAt: LATER,
    metadata: { order: '2041' },
    createdAt: EARLIER,
    updatedAt: NOW
  }
}
const paying = {
  subject: PAYMENT,
  data: {
    id: PAYMENT,
    walletAddress: ALICE,
    quoteId: QUOTE,
    receiver: RECEIVER,
    receiveAmount: usd('5000'),
    debitAmount: usd('5025'),
    failed: false,
    sentAmount: usd('0'),
    createdAt: EARLIER,
    updatedAt: NOW
  }
}
const withData = <Example extends { readonly data: object }>(example: Example, changed: object): Example => ({
  ...example,
  data: { ...example.data, ...changed }
})
const REFUND = 'urn:uuid:019ab32d-9c00-7a41-8d2e-6b1f0c7d5e96'
const refunding = {
  subject: REFUND,
  data: {
    id: REFUND,
    refundOf: PAYMENT,
    state: 'completed',
    value: '1000',
    refundAmount: usd('1000'),
    returnedAmount: usd('1000'),
    createdAt: EARLIER,
    updatedAt: EARLIER
  }
}
const signing = {
  subject: ALICE,
  data: {
    walletAddress: ALICE,
    key: {
      kid: 'till-7',
      alg: 'EdDSA',
      use: 'sig',
      kty: 'OKP',
      crv: 'Ed25519',
      x: 'Vn6u-0yCm3IlJRAxvWPyb4HQUn3uQqPJnwcwNJfRcFU'
    },
    createdAt: EARLIER
  }
}

const freeze = {
  frozen: z.boolean(),
  by: z.string().describe('Name of whoever ordered it, as in their certificate.'),
  reason: z.string()
}
const anyAccount = z.strictObject({
  id: z.string().describe('A URN: accounts have no URL.'),
  name: z.string(),
  assetCode: z.string(),
  assetScale: z.int().min(0).max(255),
  createdAt: instant
})
const account = anyAccount.extend({
  frozen: freeze.frozen,
  by: freeze.by.optional(),
  reason: freeze.reason.optional()
})
const holder = z.strictObject({
  issuer: z.url().describe('`iss` of the ID tokens.'),
  sub: z.string().describe('`sub` of the ID tokens.')
})
const heldAccount = anyAccount.extend({
  before: holder.optional().describe('Who held it; absent for nobody.'),
  after: holder.optional().describe('Who holds it; absent for nobody.'),
  by: freeze.by
})
const walletAddress = z.strictObject({
  id: z.url(),
  assetCode: z.string(),
  assetScale: z.int().min(0).max(255),
  ...freeze
})
const peer = z.strictObject({
  id: z.string().describe('A URN: peers have no URL.'),
  name: z.string(),
  assetCode: z.string(),
  assetScale: z.int().min(0).max(255)
})
const lowLiquidity = peer.extend({
  owedValue: z.string().describe('What it owes, in the smallest unit of its asset.'),
  leftValue: z
    .string()
    .describe('What it may still owe; below 0 where it was paid more than its limit leaves.')
})
const highLiquidity = peer.extend({
  weOweValue: z.string().describe('What the provider owes it, in the smallest unit of its asset.')
})
const PEER = 'urn:uuid:7a9c2f10-4b3d-4e5f-9a6b-0c1d2e3f4a5b'
const ACCOUNT = 'urn:uuid:4f1c2d3e-7b8a-4c9d-8e0f-1a2b3c4d5e6f'
const asset = { assetCode: 'USD', assetScale: 2 }
const opened = {
  subject: ACCOUNT,
  data: { id: ACCOUNT, name: 'alice', ...asset, createdAt: EARLIER, frozen: false }
}
const handed = {
  subject: ACCOUNT,
  data: {
    id: ACCOUNT,
    name: 'alice',
    ...asset,
    createdAt: EARLIER,
    after: { issuer: 'https://login.wallet.example', sub: '248289761001' },
    by: 'spiffe://wallet.example/operator'
  }
}
const ordered = (frozen: boolean) => ({
  frozen,
  by: 'spiffe://wallet.example/operator',
  reason: 'ticket 4711'
})
const freezing = (frozen: boolean) => ({ subject: ALICE, data: { id: ALICE, ...asset, ...ordered(frozen) } })

/** What each type of event tells, with an example. A member may be added; none is changed or removed. */
export const EVENT_CATALOGUE: EventCatalogue<EventType> = {
  'incoming_payment.created': {
    data: incomingPayment,
    example: withData(receiving, { updatedAt: EARLIER })
  },
  'incoming_payment.received': {
    data: incomingPayment,
    example: withData(receiving, { receivedAmount: usd('2000') })
  },
  'incoming_payment.completed': {
    data: incomingPayment,
    example: withData(receiving, { completed: true, receivedAmount: usd('5000') })
  },
  'incoming_payment.expired': {
    data: incomingPayment,
    example: withData(receiving, { expiresAt: NOW, updatedAt: EARLIER })
  },
  'outgoing_payment.created': { data: outgoingPayment, example: withData(paying, { updatedAt: EARLIER }) },
  'outgoing_payment.awaiting_approval': {
    data: outgoingPayment,
    example: withData(paying, { state: 'awaiting_approval', updatedAt: EARLIER })
  },
  'outgoing_payment.processing': { data: outgoingPayment, example: paying },
  'outgoing_payment.partially_sent': {
    data: outgoingPayment,
    example: withData(paying, { sentAmount: usd('2010') })
  },
  'outgoing_payment.completed': {
    data: outgoingPayment,
    example: withData(paying, { sentAmount: usd('5025') })
  },
  'outgoing_payment.failed': {
    data: outgoingPayment,
    example: withData(paying, { failed: true, failureReason: 'receiver_completed' })
  },
  'quote.expired': {
    data: quote,
    example: {
      subject: QUOTE,
      data: {
        id: QUOTE,
        walletAddress: ALICE,
        receiver: RECEIVER,
        receiveAmount: usd('5000'),
        debitAmount: usd('5025'),
        method: 'ilp',
        expiresAt: NOW,
        createdAt: EARLIER
      }
    }
  },
  'key.added': { data: key, example: signing },
  'key.revoked': { data: key, example: withData(signing, { revokedAt: NOW }) },
  'refund.created': { data: refund, example: withData(refunding, { state: 'pending' }) },
  'refund.completed': { data: refund, example: refunding },
  'refund.failed': {
    data: refund,
    example: withData(refunding, { state: 'failed', refundAmount: usd('0'), returnedAmount: usd('0') })
  },
  'account.created': { data: account, example: opened },
  'account.frozen': { data: account, example: withData(opened, ordered(true)) },
  'account.unfrozen': { data: account, example: withData(opened, ordered(false)) },
  'account.holder_changed': { data: heldAccount, example: handed },
  'wallet_address.frozen': { data: walletAddress, example: freezing(true) },
  'wallet_address.unfrozen': { data: walletAddress, example: freezing(false) },
  'liquidity.low': {
    data: lowLiquidity,
    example: {
      subject: PEER,
      data: { id: PEER, name: 'other-bank', ...asset, owedValue: '950000', leftValue: '50000' }
    }
  },
  'liquidity.high': {
    data: highLiquidity,
    example: { subject: PEER, data: { id: PEER, name: 'other-bank', ...asset, weOweValue: '1000250' } }
  },
  'audit.passed': { data: AUDIT_SCHEMA, example: exampleOfAudit(true) },
  'audit.failed': { data: AUDIT_SCHEMA, example: exampleOfAudit(false) },
  'webhook_endpoint.disabled': { data: ENDPOINT_SCHEMA, example: EXAMPLE_OF_ENDPOINT }
}
