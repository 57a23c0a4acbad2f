import { allowedDe } from './allowed-de.js'
import type { Messages } from './messages.js'

const START_AGAIN = 'Beginnen Sie noch einmal auf der Seite, von der Sie kamen.'
const NOTHING = 'Es wurde nichts vereinbart.'

/** German. */
export const de: Messages = {
  languageName: 'Deutsch',
  otherLanguage: 'Sprache',
  decimalSign: ',',
  once: { year: 'im Jahr', month: 'im Monat', week: 'in der Woche', day: 'am Tag', hour: 'in der Stunde' },
  every: (duration) => `alle ${duration}`,
  headline: {
    pay: (amount, payee) => `${amount} an ${payee} zahlen`,
    payAnything: (payee) => `An ${payee} zahlen, was verlangt wird`,
    take: (client, amount) => `${client} erlauben, bis zu ${amount} abzubuchen`,
    takeAnything: (client) => `${client} erlauben, beliebige Beträge abzubuchen`,
    total: (client, amount, count) =>
      `${client} ${String(count)} oder mehr Zahlungen erlauben, insgesamt bis zu ${amount}`,
    several: (client, count) => `${client} erlauben, auf ${String(count)} Arten aus Ihrer Wallet zu zahlen`,
    know: (client) => `${client} mitteilen, dass diese Wallet Ihnen gehört`,
    see: (client) => `${client} erlauben, Ihre Wallet zu nutzen, ohne daraus zu zahlen`
  },
  allow: {
    amount: (amount) => `${amount} erlauben`,
    pay: (amount) => `${amount} zahlen`,
    total: (amount) => `Insgesamt ${amount} erlauben`,
    several: (count) => `Alle ${String(count)} erlauben`,
    other: 'Erlauben'
  },
  payeeAt: (domain) => `einen Empfänger bei ${domain}`,
  payeeElsewhere: (domain) => `bei einem anderen Anbieter, ${domain}, dessen Kunden wir nicht kennen`,
  payeeGone: 'hier kann nichts mehr bezahlt werden',
  facts: {
    from: 'Von',
    to: 'An',
    purpose: 'Wofür',
    amount: 'Wie viel',
    until: 'Bis',
    ends: 'Letzter Tag von allem',
    asks: 'Wer fragt',
    may: 'Darf',
    also: 'Darf auch',
    decide: 'Entscheiden bis',
    learns: 'Erfährt'
  },
  anyone: 'wen immer die Anwendung wählt',
  feesIncluded: (amount) => `höchstens ${amount}, Gebühren eingeschlossen`,
  payeeGets: (amount) => `der Empfänger erhält höchstens ${amount}; Sie zahlen, was das kostet`,
  noLimit: 'ohne Grenze',
  between: (start, end) => `${end}, ab ${start}, einmal`,
  onceUntil: (end) => `${end}, ohne Wiederholung`,
  withoutEnd: 'bis Sie es beenden',
  untilDay: (day) => `bis ${day}`,
  times: (count, end) => `${end}, insgesamt ${String(count)} Mal`,
  warnings: {
    customer: 'Das möchte ein anderer Kunde Ihres Anbieters, nicht Ihr Anbieter selbst.',
    anyone: 'Die Anwendung entscheidet, an wen sie Ihr Geld zahlt.',
    noLimit: 'Es gibt keine Grenze. Alles auf diesem Konto kann abgebucht werden.',
    noEnd: 'Das endet nicht von selbst.',
    several: 'Hier wird mehr als eines bezahlt. Was jedes davon erlaubt, kommt zusammen.',
    gone: 'Was bezahlt würde, gibt es nicht, oder nicht mehr.'
  },
  actions: {
    'outgoing-payment:read': 'die Zahlungen sehen, die sie ausgelöst hat',
    'outgoing-payment:list': 'die Zahlungen auflisten, die sie ausgelöst hat',
    'outgoing-payment:read-all': 'jede Zahlung aus dieser Wallet sehen, auch die anderer',
    'outgoing-payment:list-all': 'jede Zahlung aus dieser Wallet auflisten, auch die anderer',
    'incoming-payment:create': 'Zahlungsanforderungen an diese Wallet anlegen',
    'incoming-payment:complete': 'ihre Zahlungsanforderungen abschließen',
    'incoming-payment:read': 'ihre Zahlungsanforderungen sehen',
    'incoming-payment:list': 'ihre Zahlungsanforderungen auflisten',
    'incoming-payment:read-all': 'jede Zahlungsanforderung an diese Wallet sehen, und was eingegangen ist',
    'incoming-payment:list-all':
      'jede Zahlungsanforderung an diese Wallet auflisten, und was eingegangen ist',
    'quote:create': 'fragen, was eine Zahlung kosten würde',
    'quote:read': 'die Preise sehen, nach denen sie gefragt hat',
    'quote:read-all': 'jeden Preis sehen, nach dem für Zahlungen aus dieser Wallet gefragt wurde'
  },
  unknownAction: (type, action) => `etwas, das diese Seite nicht kennt (${type}, ${action})`,
  anyWallet: 'jede Wallet hier',
  consent: {
    asks: (client) => `${client} fragt danach.`,
    check: 'Kennen Sie diese Seite, und kommen Sie von dort? Wenn nicht, lehnen Sie ab.',
    decline: 'Ablehnen',
    lessTitle: 'Weniger erlauben',
    lessAmount: (code, most) => `Betrag in ${code}, höchstens ${most}`,
    lessTimes: (most) => `Wie oft, höchstens ${most}`,
    endless: 'ohne Ende',
    lessEnd: 'Letzter Tag von allem, wenn es enden soll',
    leaveOut: (what) => `Weglassen: ${what}`,
    show: 'Zeigen, was das heißt',
    isLess: 'Das ist weniger, als verlangt wurde.',
    isUnsure:
      'Auf das, was Sie gewählt haben, kam keine Antwort. Bis jetzt ist es nicht angekommen: Wählen Sie noch einmal.',
    undo: 'Zurück zu dem, was verlangt wurde',
    problems: {
      amount: 'Der Betrag muss größer als null sein, und höchstens so groß wie verlangt.',
      times: 'Die Zahl muss mindestens 1 sein, und höchstens so groß wie verlangt.',
      end: 'Der letzte Tag muss in der Zukunft liegen, und nicht vor der ersten Zahlung.',
      nothing: 'Wenn Sie alles weglassen, lehnen Sie bitte ab.'
    },
    claims: (name) => `nennt sich „${name}“; jeder kann jeden Namen wählen`,
    later: 'Sie können es später hier ansehen, anhalten, senken und beenden, jederzeit.',
    backTo: (domain) => `Zurück zu ${domain}`,
    agreed: {
      title: 'Sie haben das erlaubt',
      canClose: 'Die Seite, die gefragt hat, macht von selbst weiter. Sie können diese Seite schließen.',
      see: 'Ansehen, anhalten, senken oder beenden'
    },
    declined: {
      title: 'Sie haben das abgelehnt',
      text: 'Es wurde nichts vereinbart, und es wird nichts bezahlt.',
      canClose: 'Sie können diese Seite schließen.'
    }
  },
  layout: {
    signedInAs: (name) => `Angemeldet als ${name}`,
    signOut: 'Abmelden',
    skip: 'Zum Inhalt'
  },
  home: { someone: 'Sie' },
  allowed: allowedDe,
  signIn: 'Anmelden',
  signInAsOther: 'Als jemand anderes anmelden',
  lookAgain: 'Noch einmal ansehen',
  notices: {
    'not-found': { title: 'Diese Seite gibt es nicht', sentences: [START_AGAIN] },
    incomplete: { title: 'Dieser Link ist nicht vollständig', sentences: [START_AGAIN] },
    'unknown-request': {
      title: 'Diese Anfrage gibt es nicht mehr',
      sentences: ['Sie wurde zurückgezogen, oder es gab sie nie.', START_AGAIN]
    },
    expired: {
      title: 'Diese Anfrage ist abgelaufen',
      sentences: ['Sie hat zu lange auf eine Antwort gewartet.', NOTHING, START_AGAIN]
    },
    'wrong-person': {
      title: 'Diese Anfrage ist für jemand anderen',
      sentences: [
        'Die Wallet, um die es geht, gehört nicht Ihnen, so wie Sie jetzt angemeldet sind.',
        NOTHING
      ]
    },
    'other-person': {
      title: 'Jemand anderes hat sich angemeldet',
      sentences: ['Bestätigt hat eine andere Person als die, der die Anfrage gezeigt wurde.', NOTHING]
    },
    changed: {
      title: 'Die Anfrage ist nicht mehr die, die Sie gesehen haben',
      sentences: [
        'Sie hat sich geändert, während Sie entschieden haben.',
        NOTHING,
        'Sehen Sie sie noch einmal an.'
      ]
    },
    unproven: {
      title: 'Ihre Entscheidung konnte nicht bestätigt werden',
      sentences: [
        'Die Bestätigung Ihrer Anmeldung wurde nicht angenommen, vielleicht weil es zu lange gedauert hat.',
        NOTHING
      ]
    },
    forged: {
      title: 'Es ist nichts geschehen',
      sentences: [
        'Das kam nicht von einer Seite, die Ihnen gezeigt wurde, während Sie angemeldet waren.',
        'Gehen Sie zurück, laden Sie die Seite neu, und wählen Sie noch einmal.'
      ]
    },
    'signed-out-meanwhile': {
      title: 'Sie wurden inzwischen abgemeldet',
      sentences: ['Es ist nichts geschehen.', 'Melden Sie sich an, und wählen Sie noch einmal.']
    },
    'signed-out': { title: 'Sie sind abgemeldet', sentences: ['Sie können diese Seite schließen.'] },
    'sign-in-cancelled': {
      title: 'Sie sind nicht angemeldet',
      sentences: ['Die Anmeldung wurde abgebrochen.', NOTHING]
    },
    'sign-in-lost': {
      title: 'Diese Anmeldung gehört nicht hierher',
      sentences: [
        'Sie begann in einem anderen Browser, vor zu langer Zeit, oder wurde schon verwendet.',
        'Was Sie damit entschieden haben, gilt, wenn es ankam. Öffnen Sie die Anfrage noch einmal: Sie sagt es.'
      ]
    },
    unavailable: {
      title: 'Bitte versuchen Sie es noch einmal',
      sentences: ['Ihre Wallet ist gerade nicht erreichbar.', 'Laden Sie diese Seite gleich noch einmal.']
    },
    unsure: {
      title: 'Bitte versuchen Sie es noch einmal',
      sentences: [
        'Ihre Wallet hat nicht geantwortet. Ob geschehen ist, was Sie gewählt haben, ist nicht bekannt.',
        'Sehen Sie gleich nach, wie es steht, bevor Sie noch einmal wählen.'
      ]
    },
    interrupted: {
      title: 'Bitte versuchen Sie es noch einmal',
      sentences: ['Etwas war gerade nicht erreichbar. Es wurde nichts vereinbart.']
    },
    failed: {
      title: 'Das hat nicht funktioniert',
      sentences: ['Es liegt nicht an Ihnen. Es wurde nichts vereinbart.', START_AGAIN]
    }
  }
}
