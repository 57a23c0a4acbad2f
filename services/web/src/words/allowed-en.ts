import type { AllowedMessages } from './allowed-messages.js'

/** English. */
export const allowedEn: AllowedMessages = {
  title: 'Payments you allow',
  intro: 'You can pause, lower or stop each of them here, at any time.',
  none: 'Nobody may pay from your accounts.',
  noAccount: 'None of the accounts here is yours, as you are signed in now.',
  states: { 'in-force': 'In force', paused: 'Paused', ended: 'Ended' },
  pausedTitle: 'Paused',
  inForceTitle: 'In force',
  endedTitle: 'Payments you no longer allow',
  endedIntro: 'No payment can be made under these any more, and nobody sees anything by them.',
  endedNone: 'There are none.',
  endedLink: 'Payments you no longer allow',
  back: 'All payments you allow',
  older: 'Show older ones',
  newest: 'Back to the newest',
  headline: {
    pay: (client, amount, payee) => `${client} may pay ${amount} to ${payee}`,
    payAnything: (client, payee) => `${client} may pay ${payee} whatever is asked`,
    take: (client, amount) => `${client} may take up to ${amount}`,
    takeAnything: (client) => `${client} may take any amount`,
    total: (client, amount, count) =>
      `${client} may make ${String(count)} payments or more, up to ${amount} in all`,
    several: (client, count) => `${client} may pay from your wallet in ${String(count)} ways`,
    know: (client) => `${client} knows that this wallet is yours`,
    see: (client) => `${client} may use your wallet without paying from it`
  },
  was: (client, summary) => `${client}: ${summary}`,
  summary: {
    pay: (amount, payee) => `${amount} to ${payee}`,
    payAnything: (payee) => `Whatever is asked, to ${payee}`,
    take: (amount) => `Up to ${amount}`,
    takeAnything: 'Any amount',
    total: (amount, count) => `${String(count)} payments or more, up to ${amount} in all`,
    several: (count) => `Pays from your wallet in ${String(count)} ways`,
    know: 'Knows that this wallet is yours',
    see: 'Uses your wallet without paying from it'
  },
  keyClient: (key) => `a client with the key ${key}`,
  spent: (spent, most) => `${spent} of ${most} spent`,
  spentOf: (spent) => `${spent} spent`,
  delivered: (spent, most) => `${spent} of ${most} delivered`,
  over: 'Nothing more can be spent until then.',
  startsAgain: (date) => `Counts anew from ${date}`,
  begins: (date) => `Begins on ${date}`,
  paysUntil: (day) => `Nothing is paid after ${day}`,
  paymentsOver: 'No more payments',
  mayStill: (what) => `It may still ${what}`,
  endsOn: (day) => `Ends after ${day}`,
  noEndSet: 'No earlier end',
  endedOn: (day) => `Ended on ${day}`,
  pausedSince: (instant) => `Paused since ${instant}`,
  lastUsed: (instant) => `Last used on ${instant}`,
  neverUsed: 'Never used',
  facts: {
    client: 'Who',
    state: 'State',
    spent: 'Spent',
    agreed: 'Agreed to',
    ends: 'Until',
    lastUsed: 'Last used',
    asked: 'Asked on',
    reference: 'Reference',
    by: 'By',
    when: 'When',
    before: 'Before',
    after: 'Now',
    what: 'What'
  },
  you: (name) => `You, signed in as ${name}`,
  coHolder: 'Somebody else who holds this wallet, or held it',
  ofAnother: 'Agreed to by somebody else who held this wallet: you can pause, lower and stop it',
  pauseOfAnother:
    'No payment can be made while it is paused. Those already on their way still finish. You cannot resume it, because you did not agree to it.',
  detailTitle: 'What you allowed',
  pause: 'Pause',
  resume: 'Resume',
  lower: 'Lower',
  stop: 'Stop',
  pauseMeans:
    'No payment can be made while it is paused. Those already on their way still finish. You can resume it.',
  resumeMeans: 'No payment can be made until you resume it. Those already on their way still finish.',
  stopEnded: 'It has ended by itself. You can stop it all the same, to be sure.',
  paymentsTitle: 'Payments',
  noPayments: 'Nothing was paid.',
  historyTitle: 'What you did',
  noHistory: 'Nothing since you agreed.',
  noHistoryOfAnother: 'Nothing so far.',
  receiptLink: 'Receipt',
  downloads: {
    title: 'Download',
    grants: 'Payments you allow, also those you no longer do',
    payments: 'Payments that were made'
  },
  paymentStates: {
    awaiting_approval: 'Waits for approval',
    pending: 'On its way',
    completed: 'Paid',
    failed: 'Failed'
  },
  failures: {
    insufficient_funds: 'There was not enough money in your account.',
    receiver_not_found: 'What was to be paid did not exist any more.',
    receiver_completed: 'It was closed before.',
    receiver_expired: 'It expired before.',
    receiver_full: 'It was paid by others before.',
    partially_delivered: 'Only a part was needed. The rest was not taken.',
    receiver_unreachable: 'The provider of the payee could not be reached.',
    rate_changed: 'The agreed exchange rate could no longer be had.',
    declined_by_provider: 'Your provider did not approve it.',
    account_frozen: 'An account was frozen.'
  },
  failed: 'It could not be paid.',
  paid: (amount, payee) => `${amount} to ${payee}`,
  refundOf: 'Gives back a payment',
  partly: (sent) => `${sent} was taken`,
  gets: (received) => `${received} arrived`,
  refunded: (amount) => `${amount} was given back`,
  lowering: {
    title: (client) => `Allow ${client} less`,
    intro: 'It is in force at once, and cannot be raised again: for more, you would be asked anew.',
    amount: (code, most) => `At most, in ${code} (now ${most})`,
    amountNone: (code) => `At most, in ${code} (now no limit)`,
    receive: (code, most) => `The payee gets at most, in ${code} (now ${most})`,
    end: (last) => (last === undefined ? 'Last day (now no end)' : `Last day (now ${last})`),
    button: 'Lower',
    back: 'Leave it as it is',
    problems: {
      amount: 'Write an amount above zero, such as 12.50. To allow nothing, pause or stop.',
      higher: 'That is more than is allowed now. It can only be lowered.',
      end: 'Choose a day from today on.',
      later: 'That is later than it ends now. It can only end earlier.',
      nothing: 'This is what is allowed already. Nothing was changed.',
      changed: 'It has changed since you opened this page. This is what is true now: choose again.'
    }
  },
  stopping: {
    title: (client) => `Stop payments by ${client}?`,
    means: (client) => [
      'From then on no payment can be made under this. It cannot be resumed.',
      `${client} sees nothing of your wallet by it any more.`,
      'Payments that are already on their way still finish, also those that wait for your provider to approve them.',
      `To be paid again, ${client} would have to ask you anew.`,
      `It does not end a contract that you have with ${client}, nor what you owe.`
    ],
    button: 'Stop it for good',
    back: 'Do not stop'
  },
  acts: { paused: 'Paused', resumed: 'Resumed', lowered: 'Lowered', stopped: 'Stopped' },
  receipt: {
    title: {
      paused: 'You paused this',
      resumed: 'You resumed this',
      lowered: 'You lowered this',
      stopped: 'You stopped this'
    },
    titleOfAnother: {
      paused: 'This was paused',
      resumed: 'This was resumed',
      lowered: 'This was lowered',
      stopped: 'This was stopped'
    },
    means: {
      paused:
        'No payment could be made under it from then on, until it is resumed. Those that were on their way still finish.',
      resumed: 'Payments could be made under it again from then on.',
      lowered: 'The lower limits have been in force since then.',
      stopped: 'No payment can be made under it any more. Those that were on their way still finish.'
    },
    keep: 'Print or save this page to keep it.',
    agreedTitle: 'What you agreed to',
    agreedIntro: 'This is what you allowed when you were asked.',
    howToStop: (place) => `You can see, pause, lower and stop it at any time: ${place}`,
    back: 'See how it is now'
  },
  meanwhile: {
    changed: 'It has changed since you opened that page. This is what is true now: choose again.',
    ended: 'It has ended meanwhile: no payment can be made under it any more.',
    unsure:
      'We could not make sure that this is in force everywhere. Press again: doing it twice does no harm.',
    repeat: 'Try again',
    look: 'See what is true now'
  }
}
