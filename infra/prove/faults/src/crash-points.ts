import type { ServiceName } from '@open-payments-server/acceptance'
import {
  type Crash,
  type CrashStep,
  delay,
  kill,
  pass,
  type PaymentPoint,
  statementOf
} from './crash-steps.js'

/** A crash at one step boundary of creating, processing or settling a payment. */
export interface PaymentCrash extends Crash<ServiceName> {
  /**
   * Whether it waits until every event of the system is told, of earlier crashes too: a lease of a killed process must end first,
   * which takes longer than all else.
   */
  readonly waitsForEvents?: boolean
}

const auth = {
  reserve: statementOf('auth-server', /^reserve\b/),
  refuse: statementOf('auth-server', /^refuse\b/),
  end: statementOf('auth-server', /^end-reservations\b/)
}
const resource = {
  persist: statementOf('resource-server', /^persist-outgoing-payments?\b/),
  giveUp: statementOf('resource-server', /^give-up-payment-id(?!s)/),
  approve: statementOf('resource-server', /^approve-outgoing-payment\b/),
  commitApproval: statementOf('resource-server', /^commit of .*approve-outgoing-payment\b/s),
  decline: statementOf('resource-server', /^decline-outgoing-payment\b/),
  timeOut: statementOf('resource-server', /^decline-overdue-payments\b/),
  claim: statementOf('resource-server', /^claim-outgoing-payments\b/),
  write: statementOf('resource-server', /^settle-outgoing-payments\b/),
  commit: statementOf('resource-server', /^commit of .*settle-outgoing-payments\b/s),
  claimOutcomes: statementOf('resource-server', /^claim-reservation-outcomes\b/),
  markDelivered: statementOf('resource-server', /^mark-outcomes-delivered\b/),
  sweep: statementOf('resource-server', /^give-up-payment-ids/)
}
const webhooks = {
  publish: statementOf('resource-server', /^publish-events\b/),
  commit: statementOf('resource-server', /^commit of .*publish-events\b/s),
  lease: statementOf('resource-server', /^lease-webhook-endpoints\b/),
  record: statementOf('resource-server', /^record-webhook-deliveries\b/),
  recordOfGrants: statementOf('auth-server', /^record-webhook-deliveries\b/),
  publishGrants: statementOf('auth-server', /^commit of .*publish-events\b/s)
}

type Point = PaymentPoint<ServiceName>

const killAuthServer = (at: Point): CrashStep<ServiceName> => kill<ServiceName>('auth-server', at)
const killResourceServer = (at: Point): CrashStep<ServiceName> => kill<ServiceName>('resource-server', at)

/** A reservation that the resource server is not sure of is given up, and released next. */
const givenUp = [delay(auth.reserve('after')), pass(resource.giveUp('after'))]

/**
 * Every boundary between two steps of a payment, and the service that is killed there. If it is killed while the other's statement
 * waits, that one loses its caller; if it is killed at its own statement, the other gets no answer.
 */
export const CRASHES: readonly PaymentCrash[] = [
  // Creating: reserve.
  {
    name: 'auth server, asked to reserve, nothing recorded',
    steps: [killAuthServer(auth.reserve('before'))]
  },
  { name: 'auth server, while it reserves', steps: [killAuthServer(auth.reserve('during'))] },
  { name: 'auth server, reserved, not answered', steps: [killAuthServer(auth.reserve('after'))] },
  {
    name: 'resource server, while the auth server is still to reserve',
    steps: [killResourceServer(auth.reserve('before'))]
  },
  {
    name: 'resource server, reserved, but not told so',
    steps: [killResourceServer(auth.reserve('after'))]
  },
  { name: 'auth server, about to refuse', steps: [killAuthServer(auth.refuse('before'))] },
  { name: 'auth server, refused, not answered', steps: [killAuthServer(auth.refuse('after'))] },
  { name: 'resource server, refused, but not told so', steps: [killResourceServer(auth.refuse('after'))] },
  // Creating: persist.
  {
    name: 'resource server, reserved, about to persist',
    steps: [killResourceServer(resource.persist('before'))]
  },
  { name: 'resource server, while it persists', steps: [killResourceServer(resource.persist('during'))] },
  {
    name: 'resource server, persisted, not answered',
    steps: [killResourceServer(resource.persist('after'))]
  },
  {
    name: 'auth server, while the resource server persists',
    steps: [killAuthServer(resource.persist('after'))]
  },
  // Creating: giving up after an uncertain reservation.
  {
    name: 'resource server, about to give up a reservation it is not sure of',
    steps: [delay(auth.reserve('after')), killResourceServer(resource.giveUp('before'))]
  },
  {
    name: 'resource server, given up, not answered, and reserved later',
    steps: [delay(auth.reserve('before')), killResourceServer(resource.giveUp('after'))]
  },
  // Awaiting approval.
  {
    name: 'resource server, about to approve a payment',
    steps: [killResourceServer(resource.approve('before'))]
  },
  { name: 'resource server, while it approves', steps: [killResourceServer(resource.approve('during'))] },
  {
    name: 'resource server, approved, nothing committed',
    steps: [killResourceServer(resource.approve('after'))]
  },
  {
    name: 'resource server, while it commits an approval',
    steps: [killResourceServer(resource.commitApproval('during'))]
  },
  {
    name: 'resource server, approval committed, nothing woken or answered',
    steps: [killResourceServer(resource.commitApproval('after'))]
  },
  {
    name: 'resource server, about to decline a payment',
    steps: [killResourceServer(resource.decline('before'))]
  },
  { name: 'resource server, while it declines', steps: [killResourceServer(resource.decline('during'))] },
  {
    name: 'resource server, declined, nothing committed',
    steps: [killResourceServer(resource.decline('after'))]
  },
  {
    name: 'resource server, about to decline what nobody decided about',
    steps: [killResourceServer(resource.timeOut('before'))]
  },
  {
    name: 'resource server, while it declines what nobody decided about',
    steps: [killResourceServer(resource.timeOut('during'))]
  },
  {
    name: 'resource server, declined what nobody decided about, nothing woken',
    steps: [killResourceServer(resource.timeOut('after'))]
  },
  // Processing.
  {
    name: 'resource server, about to claim payments',
    steps: [pass(resource.persist('after')), killResourceServer(resource.claim('before'))]
  },
  {
    name: 'resource server, payments claimed and their receivers locked',
    steps: [pass(resource.persist('after')), killResourceServer(resource.claim('after'))]
  },
  {
    name: 'resource server, while it moves the money',
    steps: [killResourceServer(resource.write('during'))]
  },
  {
    name: 'resource server, money moved, not committed',
    steps: [killResourceServer(resource.write('after'))]
  },
  { name: 'resource server, while it commits', steps: [killResourceServer(resource.commit('during'))] },
  { name: 'resource server, committed, not told so', steps: [killResourceServer(resource.commit('after'))] },
  // Settling: the outcomes.
  {
    name: 'resource server, about to claim outcomes',
    steps: [pass(resource.commit('after')), killResourceServer(resource.claimOutcomes('before'))]
  },
  {
    name: 'resource server, outcomes claimed',
    steps: [pass(resource.commit('after')), killResourceServer(resource.claimOutcomes('after'))]
  },
  {
    name: 'auth server, told of an outcome, nothing recorded',
    steps: [killAuthServer(auth.end('before'))]
  },
  { name: 'auth server, while it settles', steps: [killAuthServer(auth.end('during'))] },
  { name: 'auth server, settled, not answered', steps: [killAuthServer(auth.end('after'))] },
  {
    name: 'resource server, while the auth server is still to settle',
    steps: [killResourceServer(auth.end('before'))]
  },
  { name: 'resource server, settled, but not told so', steps: [killResourceServer(auth.end('after'))] },
  {
    name: 'auth server, about to release',
    steps: [...givenUp, killAuthServer(auth.end('before'))]
  },
  {
    name: 'auth server, released, not answered',
    steps: [...givenUp, killAuthServer(auth.end('after'))]
  },
  {
    name: 'resource server, released, but not told so',
    steps: [...givenUp, killResourceServer(auth.end('after'))]
  },
  {
    name: 'resource server, acknowledged, about to note it',
    steps: [killResourceServer(resource.markDelivered('before'))]
  },
  {
    name: 'resource server, acknowledgement noted',
    steps: [killResourceServer(resource.markDelivered('after'))]
  },
  // Orphans.
  {
    name: 'resource server, leaving an orphan, and again when it is about to sweep it',
    steps: [killResourceServer(resource.persist('before')), killResourceServer(resource.sweep('before'))]
  },
  {
    name: 'resource server, leaving an orphan, and again when it has swept it',
    steps: [killResourceServer(resource.persist('before')), killResourceServer(resource.sweep('after'))]
  },
  {
    name: 'auth server, while it releases an orphan',
    steps: [killResourceServer(resource.persist('before')), killAuthServer(auth.end('during'))]
  },
  // Telling: events.
  {
    name: 'resource server, about to publish events',
    waitsForEvents: true,
    steps: [killResourceServer(webhooks.publish('before'))]
  },
  {
    name: 'resource server, while it publishes events',
    waitsForEvents: true,
    steps: [killResourceServer(webhooks.commit('during'))]
  },
  {
    name: 'resource server, events published, not told so',
    waitsForEvents: true,
    steps: [killResourceServer(webhooks.commit('after'))]
  },
  {
    name: 'auth server, events published, not told so',
    waitsForEvents: true,
    steps: [killAuthServer(webhooks.publishGrants('after'))]
  },
  {
    name: 'resource server, while it leases endpoints',
    waitsForEvents: true,
    steps: [killResourceServer(webhooks.lease('during'))]
  },
  {
    name: 'resource server, endpoints leased',
    waitsForEvents: true,
    steps: [killResourceServer(webhooks.lease('after'))]
  },
  {
    name: 'resource server, events delivered, about to record it',
    waitsForEvents: true,
    steps: [killResourceServer(webhooks.record('before'))]
  },
  {
    name: 'resource server, while it records what was delivered',
    waitsForEvents: true,
    steps: [killResourceServer(webhooks.record('during'))]
  },
  {
    name: 'resource server, deliveries recorded',
    waitsForEvents: true,
    steps: [killResourceServer(webhooks.record('after'))]
  },
  {
    name: 'auth server, events delivered, about to record it',
    waitsForEvents: true,
    steps: [killAuthServer(webhooks.recordOfGrants('before'))]
  }
]
