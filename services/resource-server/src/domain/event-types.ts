/** Every type of event that this service tells of, and when it happens. */
export const EVENT_TYPES = {
  'incoming_payment.created': 'A client asked for money.',
  'incoming_payment.received': 'Money arrived.',
  'incoming_payment.completed': 'Nothing more is expected: all of it arrived, or its client completed it.',
  'incoming_payment.expired':
    'Its time is over, a minute ago or more, and it was not completed. Nothing arrives any more.',
  'outgoing_payment.created': 'A client pays. Its money is on hold.',
  'outgoing_payment.awaiting_approval': 'It met a rule: the provider is to approve or decline it.',
  'outgoing_payment.processing': 'The provider approved it.',
  'outgoing_payment.partially_sent':
    'A part of it was delivered to another provider. The rest is sent later: `sentAmount` is what that part cost.',
  'outgoing_payment.completed': 'The receiver has all of it.',
  'outgoing_payment.failed': 'It ended otherwise: what was not sent is available again.',
  'refund.created':
    'What a payment delivered is given back, or a part of it, by the provider or by a payment.',
  'refund.completed': 'The payer has it.',
  'refund.failed': 'The payment that was to make it failed, and sent nothing back.',
  'account.created': 'An operator created an account.',
  'account.frozen': 'An operator froze an account: nothing new is paid from it or to it.',
  'account.unfrozen': 'An operator ended the freeze of an account.',
  'account.holder_changed': 'An operator said who holds an account from now on, or that nobody does.',
  'wallet_address.frozen': 'An operator froze a wallet address: nothing new is paid from it or to it.',
  'wallet_address.unfrozen': 'An operator ended the freeze of a wallet address.',
  'quote.expired': 'Its time is over, a minute ago or more, and no payment used it.',
  'key.added': 'An operator added a key to a wallet address: its holder may sign with it.',
  'key.revoked':
    'An operator revoked a key of a wallet address. Nothing signed with it is accepted any more.',
  'liquidity.low':
    'Little is left of what a peer may owe: when it settles, or its limit is raised, more can arrive.',
  'liquidity.high': 'The provider owes a peer more than it wanted to: it is time to settle.',
  'audit.passed': 'An operator had everything checked, and every invariant holds.',
  'audit.failed': 'An operator had everything checked, and something is wrong.',
  'webhook_endpoint.disabled':
    'A webhook endpoint gets no more events: it took nothing for three days, or answered 410.'
} as const satisfies Readonly<Record<string, string>>

/** A type of event. */
export type EventType = keyof typeof EVENT_TYPES
