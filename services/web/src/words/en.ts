import { allowedEn } from './allowed-en.js'
import type { Messages } from './messages.js'

const START_AGAIN = 'Start again from the site that sent you here.'
const NOTHING = 'Nothing was agreed to.'

/** English. */
export const en: Messages = {
  languageName: 'English',
  otherLanguage: 'Language',
  decimalSign: '.',
  once: { year: 'a year', month: 'a month', week: 'a week', day: 'a day', hour: 'an hour' },
  every: (duration) => `every ${duration}`,
  headline: {
    pay: (amount, payee) => `Pay ${amount} to ${payee}`,
    payAnything: (payee) => `Pay ${payee} whatever is asked`,
    take: (client, amount) => `Let ${client} take up to ${amount}`,
    takeAnything: (client) => `Let ${client} take any amount`,
    total: (client, amount, count) =>
      `Let ${client} make ${String(count)} payments or more, up to ${amount} in all`,
    several: (client, count) => `Let ${client} pay from your wallet in ${String(count)} ways`,
    know: (client) => `Tell ${client} that this wallet is yours`,
    see: (client) => `Let ${client} use your wallet without paying from it`
  },
  allow: {
    amount: (amount) => `Allow ${amount}`,
    pay: (amount) => `Pay ${amount}`,
    total: (amount) => `Allow ${amount} in all`,
    several: (count) => `Allow all ${String(count)}`,
    other: 'Allow'
  },
  payeeAt: (domain) => `a payee at ${domain}`,
  payeeElsewhere: (domain) => `at another provider, ${domain}, whose customers we do not know`,
  payeeGone: 'nothing can be paid here any more',
  facts: {
    from: 'From',
    to: 'To',
    purpose: 'For',
    amount: 'How much',
    until: 'Until',
    ends: 'Last day of all of it',
    asks: 'Asked by',
    may: 'It may',
    also: 'It may also',
    decide: 'Decide by',
    learns: 'It learns'
  },
  anyone: 'anyone it chooses',
  feesIncluded: (amount) => `at most ${amount}, fees included`,
  payeeGets: (amount) => `the payee gets at most ${amount}; you pay what it costs to deliver that`,
  noLimit: 'no limit',
  between: (start, end) => `${end}, from ${start}, once`,
  onceUntil: (end) => `${end}, not repeated`,
  withoutEnd: 'until you stop it',
  untilDay: (day) => `until ${day}`,
  times: (count, end) => `${end}, ${String(count)} times in all`,
  warnings: {
    customer: 'Another customer of your provider asks for this, not your provider itself.',
    anyone: 'It decides whom it pays with your money.',
    noLimit: 'There is no limit. It can take everything in this account.',
    noEnd: 'This does not end by itself.',
    several: 'This is more than one thing to pay. What each allows adds up.',
    gone: 'What would be paid does not exist, or no longer.'
  },
  actions: {
    'outgoing-payment:read': 'see the payments that it made',
    'outgoing-payment:list': 'list the payments that it made',
    'outgoing-payment:read-all': 'see every payment from this wallet, also those of others',
    'outgoing-payment:list-all': 'list every payment from this wallet, also those of others',
    'incoming-payment:create': 'create requests for payment to this wallet',
    'incoming-payment:complete': 'close the requests for payment that it made',
    'incoming-payment:read': 'see the requests for payment that it made',
    'incoming-payment:list': 'list the requests for payment that it made',
    'incoming-payment:read-all': 'see every request for payment to this wallet, and what was received',
    'incoming-payment:list-all': 'list every request for payment to this wallet, and what was received',
    'quote:create': 'ask what a payment would cost',
    'quote:read': 'see the prices that it asked for',
    'quote:read-all': 'see every price that was asked for payments from this wallet'
  },
  unknownAction: (type, action) => `something that this page does not know (${type}, ${action})`,
  anyWallet: 'any wallet here',
  consent: {
    asks: (client) => `${client} asks for this.`,
    check: 'Do you know this site, and did you come from there? If not, decline.',
    decline: 'Decline',
    lessTitle: 'Allow less',
    lessAmount: (code, most) => `Amount in ${code}, at most ${most}`,
    lessTimes: (most) => `How many times, at most ${most}`,
    endless: 'without end',
    lessEnd: 'Last day of all of it, if it should end',
    leaveOut: (what) => `Leave out: ${what}`,
    show: 'Show what that means',
    isLess: 'This is less than was asked for.',
    isUnsure: 'No answer came to what you chose. So far it has not arrived: choose again.',
    undo: 'Back to what was asked for',
    problems: {
      amount: 'The amount must be above zero, and at most what was asked for.',
      times: 'The number must be at least 1, and at most what was asked for.',
      end: 'The last day must be in the future, and not before the first payment.',
      nothing: 'If you leave out everything, decline instead.'
    },
    claims: (name) => `calls itself “${name}”; anyone can choose any name`,
    later: 'You can see, pause, lower and stop it here later, at any time.',
    backTo: (domain) => `Back to ${domain}`,
    agreed: {
      title: 'You allowed this',
      canClose: 'The site that asked you goes on by itself. You can close this page.',
      see: 'See, pause, lower or stop it'
    },
    declined: {
      title: 'You declined this',
      text: 'Nothing was agreed to, and nothing is paid.',
      canClose: 'You can close this page.'
    }
  },
  layout: {
    signedInAs: (name) => `Signed in as ${name}`,
    signOut: 'Sign out',
    skip: 'Skip to the content'
  },
  home: { someone: 'you' },
  allowed: allowedEn,
  signIn: 'Sign in',
  signInAsOther: 'Sign in as somebody else',
  lookAgain: 'Look again',
  notices: {
    'not-found': { title: 'There is no such page', sentences: [START_AGAIN] },
    incomplete: { title: 'This link is not complete', sentences: [START_AGAIN] },
    'unknown-request': {
      title: 'This request is gone',
      sentences: ['It was withdrawn, or never existed.', START_AGAIN]
    },
    expired: {
      title: 'This request has expired',
      sentences: ['It waited too long for an answer.', NOTHING, START_AGAIN]
    },
    'wrong-person': {
      title: 'This request is for somebody else',
      sentences: ['The wallet that is asked is not yours, as you are signed in now.', NOTHING]
    },
    'other-person': {
      title: 'Somebody else signed in',
      sentences: ['You confirmed as another person than the one who looked at the request.', NOTHING]
    },
    changed: {
      title: 'The request is not what you saw',
      sentences: ['It changed while you decided.', NOTHING, 'Look at it again.']
    },
    unproven: {
      title: 'Your decision could not be confirmed',
      sentences: [
        'The confirmation of your sign-in was not accepted, maybe because it took too long.',
        NOTHING
      ]
    },
    forged: {
      title: 'Nothing was done',
      sentences: [
        'This was not sent from a page that you were shown while you were signed in.',
        'Go back, reload the page, and choose again.'
      ]
    },
    'signed-out-meanwhile': {
      title: 'You were signed out meanwhile',
      sentences: ['Nothing was done.', 'Sign in, and choose again.']
    },
    'signed-out': { title: 'You are signed out', sentences: ['You can close this page.'] },
    'sign-in-cancelled': {
      title: 'You are not signed in',
      sentences: ['The sign-in ended before it was complete.', NOTHING]
    },
    'sign-in-lost': {
      title: 'This sign-in does not belong here',
      sentences: [
        'It began in another browser, too long ago, or has been used already.',
        'What you decided by it counts if it arrived. Open the request again: it says so.'
      ]
    },
    unavailable: {
      title: 'Please try again',
      sentences: ['Your wallet cannot be reached right now.', 'Reload this page in a moment.']
    },
    unsure: {
      title: 'Please try again',
      sentences: [
        'Your wallet did not answer. It is not known whether what you chose was done.',
        'Look in a moment at how things are, before you choose again.'
      ]
    },
    interrupted: {
      title: 'Please try again',
      sentences: ['Something could not be reached right now. Nothing was agreed to.']
    },
    failed: {
      title: 'This did not work',
      sentences: ['It is not your fault. Nothing was agreed to.', START_AGAIN]
    }
  }
}
