import { type Crash, type CrashStep, kill, pass, type PaymentPoint, statementOf } from './crash-steps.js'
import type { CrossingService } from './crossing-system.js'

const sender = {
  begin: statementOf('resource-server', /^begin-sending-payments\b/),
  saveGrant: statementOf('resource-server', /^save-provider-grant\b/),
  write: statementOf('resource-server', /^write-packets\b/),
  postpone: statementOf('resource-server', /^postpone-sending\b/),
  end: statementOf('resource-server', /^end-sending\b/),
  commitEnd: statementOf('resource-server', /^commit of .*end-sending\b/s)
}
const receiver = {
  grant: statementOf('receiving auth-server', /^begin-grants\b/),
  introspect: statementOf('receiving auth-server', /^find-(token|active)\b/),
  credit: statementOf('receiving resource-server', /^credit-packets\b/),
  commitCredit: statementOf('receiving resource-server', /^commit of .*credit-packets\b/s)
}

type Point = PaymentPoint<CrossingService>

const killSender = (at: Point): CrashStep<CrossingService> => kill<CrossingService>('resource-server', at)
const killReceiver = (at: Point): CrashStep<CrossingService> =>
  kill<CrossingService>('receiving resource-server', at)
const killAuthServers = {
  sender: (at: Point): CrashStep<CrossingService> => kill<CrossingService>('auth-server', at),
  receiver: (at: Point): CrashStep<CrossingService> => kill<CrossingService>('receiving auth-server', at)
}

/** A crash at one step boundary of a payment to another provider. */
export interface CrossingCrash extends Crash<CrossingService> {
  /** Whether the sender has no token of the receiver's auth server yet. */
  readonly asksForGrant?: boolean
}

/** The first packets of a payment are written down; the next statement writes their answers, too. */
const sent = [pass(sender.write('after'))]

/** Every boundary between two steps of a payment to another provider, and the service that is killed there. */
export const CROSSING_CRASHES: readonly CrossingCrash[] = [
  // Reading what is to be paid.
  {
    name: "receiver's auth server, asked for a grant, nothing recorded",
    asksForGrant: true,
    steps: [killAuthServers.receiver(receiver.grant('before'))]
  },
  {
    name: "receiver's auth server, grant given, not answered",
    asksForGrant: true,
    steps: [killAuthServers.receiver(receiver.grant('after'))]
  },
  {
    name: "sender's resource server, granted, about to keep it",
    asksForGrant: true,
    steps: [killSender(sender.saveGrant('before'))]
  },
  {
    name: "sender's resource server, grant kept",
    asksForGrant: true,
    steps: [killSender(sender.saveGrant('after'))]
  },
  {
    name: "receiver's auth server, asked about a token",
    asksForGrant: true,
    steps: [killAuthServers.receiver(receiver.introspect('before'))]
  },
  // Beginning.
  { name: "sender's resource server, while it begins to send", steps: [killSender(sender.begin('during'))] },
  {
    name: "sender's resource server, begun to send, not told so",
    steps: [killSender(sender.begin('after'))]
  },
  // The first packets.
  {
    name: "sender's resource server, about to write down packets",
    steps: [killSender(sender.write('before'))]
  },
  {
    name: "sender's resource server, while it writes down packets",
    steps: [killSender(sender.write('during'))]
  },
  {
    name: "sender's resource server, packets written down, not sent",
    steps: [killSender(sender.write('after'))]
  },
  {
    name: "receiver's resource server, packets written down, not sent",
    steps: [killReceiver(sender.write('after'))]
  },
  // Crediting.
  {
    name: "receiver's resource server, about to credit packets",
    steps: [killReceiver(receiver.credit('before'))]
  },
  {
    name: "receiver's resource server, packets credited, not committed",
    steps: [killReceiver(receiver.credit('after'))]
  },
  {
    name: "receiver's resource server, while it commits a credit",
    steps: [killReceiver(receiver.commitCredit('during'))]
  },
  {
    name: "receiver's resource server, credit committed, not fulfilled",
    steps: [killReceiver(receiver.commitCredit('after'))]
  },
  {
    name: "sender's resource server, while the receiver is still to credit",
    steps: [killSender(receiver.credit('before'))]
  },
  {
    name: "sender's resource server, credited, but not told so",
    steps: [killSender(receiver.commitCredit('after'))]
  },
  // Answers.
  {
    name: "sender's resource server, fulfilled, about to write that down",
    steps: [...sent, killSender(sender.write('before'))]
  },
  {
    name: "sender's resource server, while it writes down a fulfillment",
    steps: [...sent, killSender(sender.write('during'))]
  },
  {
    name: "sender's resource server, fulfillment written down",
    steps: [...sent, killSender(sender.write('after'))]
  },
  {
    name: "receiver's resource server, while the sender writes down a fulfillment",
    steps: [...sent, killReceiver(sender.write('before'))]
  },
  // Going on later.
  {
    name: "sender's resource server, about to go on later",
    steps: [killReceiver(receiver.credit('before')), killSender(sender.postpone('before'))]
  },
  {
    name: "sender's resource server, to go on later",
    steps: [killReceiver(receiver.credit('before')), killSender(sender.postpone('after'))]
  },
  {
    name: "sender's resource server, gone on, about to write down packets",
    steps: [
      killReceiver(receiver.credit('before')),
      pass(sender.postpone('after')),
      killSender(sender.write('before'))
    ]
  },
  // Ending.
  { name: "sender's resource server, about to end a payment", steps: [killSender(sender.end('before'))] },
  {
    name: "sender's resource server, while it ends a payment",
    steps: [killSender(sender.commitEnd('during'))]
  },
  {
    name: "sender's resource server, payment ended, not told so",
    steps: [killSender(sender.commitEnd('after'))]
  },
  {
    name: "sender's auth server, while a payment ends",
    steps: [killAuthServers.sender(sender.commitEnd('after'))]
  }
]
