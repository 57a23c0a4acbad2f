import type { AllowedMessages } from './allowed-messages.js'

/** German. */
export const allowedDe: AllowedMessages = {
  title: 'Zahlungen, die Sie erlauben',
  intro: 'Jede davon können Sie hier anhalten, senken oder beenden, jederzeit.',
  none: 'Niemand darf aus Ihren Konten zahlen.',
  noAccount: 'Keines der Konten hier gehört Ihnen, so wie Sie jetzt angemeldet sind.',
  states: { 'in-force': 'In Kraft', paused: 'Angehalten', ended: 'Beendet' },
  pausedTitle: 'Angehalten',
  inForceTitle: 'In Kraft',
  endedTitle: 'Zahlungen, die Sie nicht mehr erlauben',
  endedIntro: 'Damit kann nichts mehr bezahlt werden, und niemand sieht damit noch etwas.',
  endedNone: 'Es gibt keine.',
  endedLink: 'Zahlungen, die Sie nicht mehr erlauben',
  back: 'Alle Zahlungen, die Sie erlauben',
  older: 'Ältere zeigen',
  newest: 'Zurück zu den neuesten',
  headline: {
    pay: (client, amount, payee) => `${client} darf ${amount} an ${payee} zahlen`,
    payAnything: (client, payee) => `${client} darf an ${payee} zahlen, was verlangt wird`,
    take: (client, amount) => `${client} darf bis zu ${amount} abbuchen`,
    takeAnything: (client) => `${client} darf beliebige Beträge abbuchen`,
    total: (client, amount, count) =>
      `${client} darf ${String(count)} oder mehr Zahlungen ausführen, insgesamt bis zu ${amount}`,
    several: (client, count) => `${client} darf auf ${String(count)} Arten aus Ihrer Wallet zahlen`,
    know: (client) => `${client} weiß, dass diese Wallet Ihnen gehört`,
    see: (client) => `${client} darf Ihre Wallet nutzen, ohne daraus zu zahlen`
  },
  was: (client, summary) => `${client}: ${summary}`,
  summary: {
    pay: (amount, payee) => `${amount} an ${payee}`,
    payAnything: (payee) => `Was verlangt wird, an ${payee}`,
    take: (amount) => `Bis zu ${amount}`,
    takeAnything: 'Beliebige Beträge',
    total: (amount, count) => `${String(count)} oder mehr Zahlungen, insgesamt bis zu ${amount}`,
    several: (count) => `Zahlt auf ${String(count)} Arten aus Ihrer Wallet`,
    know: 'Weiß, dass diese Wallet Ihnen gehört',
    see: 'Nutzt Ihre Wallet, ohne daraus zu zahlen'
  },
  keyClient: (key) => `eine Anwendung mit dem Schlüssel ${key}`,
  spent: (spent, most) => `${spent} von ${most} ausgegeben`,
  spentOf: (spent) => `${spent} ausgegeben`,
  delivered: (spent, most) => `${spent} von ${most} angekommen`,
  over: 'Bis dahin kann nichts mehr ausgegeben werden.',
  startsAgain: (date) => `Zählt neu ab ${date}`,
  begins: (date) => `Beginnt am ${date}`,
  paysUntil: (day) => `Nach dem ${day} wird nichts bezahlt`,
  paymentsOver: 'Keine Zahlungen mehr',
  mayStill: (what) => `Darf noch ${what}`,
  endsOn: (day) => `Endet nach dem ${day}`,
  noEndSet: 'Kein früheres Ende',
  endedOn: (day) => `Beendet am ${day}`,
  pausedSince: (instant) => `Angehalten seit ${instant}`,
  lastUsed: (instant) => `Zuletzt genutzt am ${instant}`,
  neverUsed: 'Nie genutzt',
  facts: {
    client: 'Wer',
    state: 'Zustand',
    spent: 'Ausgegeben',
    agreed: 'Vereinbart',
    ends: 'Bis',
    lastUsed: 'Zuletzt genutzt',
    asked: 'Gefragt am',
    reference: 'Kennzeichen',
    by: 'Durch',
    when: 'Wann',
    before: 'Vorher',
    after: 'Jetzt',
    what: 'Was'
  },
  you: (name) => `Sie, angemeldet als ${name}`,
  coHolder: 'Jemand anderes, dem diese Wallet gehört oder gehörte',
  ofAnother:
    'Von jemand anderem erlaubt, dem diese Wallet gehörte: Sie können es anhalten, senken und beenden',
  pauseOfAnother:
    'Solange es angehalten ist, kann nicht bezahlt werden. Was schon unterwegs ist, wird noch fertig. Sie können es nicht fortsetzen, weil Sie es nicht erlaubt haben.',
  detailTitle: 'Was Sie erlaubt haben',
  pause: 'Anhalten',
  resume: 'Fortsetzen',
  lower: 'Senken',
  stop: 'Beenden',
  pauseMeans:
    'Solange es angehalten ist, kann nicht bezahlt werden. Was schon unterwegs ist, wird noch fertig. Sie können es fortsetzen.',
  resumeMeans:
    'Es kann nicht bezahlt werden, bis Sie es fortsetzen. Was schon unterwegs ist, wird noch fertig.',
  stopEnded: 'Es hat von selbst geendet. Sie können es trotzdem beenden, um sicher zu sein.',
  paymentsTitle: 'Zahlungen',
  noPayments: 'Es wurde nichts bezahlt.',
  historyTitle: 'Was Sie getan haben',
  noHistory: 'Nichts, seit Sie zugestimmt haben.',
  noHistoryOfAnother: 'Bisher nichts.',
  receiptLink: 'Beleg',
  downloads: {
    title: 'Herunterladen',
    grants: 'Zahlungen, die Sie erlauben, auch die, die Sie nicht mehr erlauben',
    payments: 'Zahlungen, die gemacht wurden'
  },
  paymentStates: {
    awaiting_approval: 'Wartet auf Freigabe',
    pending: 'Unterwegs',
    completed: 'Bezahlt',
    failed: 'Gescheitert'
  },
  failures: {
    insufficient_funds: 'Auf Ihrem Konto war nicht genug Geld.',
    receiver_not_found: 'Was bezahlt werden sollte, gab es nicht mehr.',
    receiver_completed: 'Es war vorher abgeschlossen.',
    receiver_expired: 'Es war vorher abgelaufen.',
    receiver_full: 'Es war vorher von anderen bezahlt.',
    partially_delivered: 'Nur ein Teil wurde gebraucht. Der Rest wurde nicht abgebucht.',
    receiver_unreachable: 'Der Anbieter des Empfängers war nicht erreichbar.',
    rate_changed: 'Der vereinbarte Wechselkurs galt nicht mehr.',
    declined_by_provider: 'Ihr Anbieter hat es nicht freigegeben.',
    account_frozen: 'Ein Konto war gesperrt.'
  },
  failed: 'Es konnte nicht bezahlt werden.',
  paid: (amount, payee) => `${amount} an ${payee}`,
  refundOf: 'Gibt eine Zahlung zurück',
  partly: (sent) => `${sent} wurden abgebucht`,
  gets: (received) => `${received} sind angekommen`,
  refunded: (amount) => `${amount} wurden zurückgegeben`,
  lowering: {
    title: (client) => `${client} weniger erlauben`,
    intro: 'Das gilt sofort und kann nicht wieder erhöht werden: für mehr würden Sie noch einmal gefragt.',
    amount: (code, most) => `Höchstens, in ${code} (jetzt ${most})`,
    amountNone: (code) => `Höchstens, in ${code} (jetzt ohne Grenze)`,
    receive: (code, most) => `Der Empfänger erhält höchstens, in ${code} (jetzt ${most})`,
    end: (last) => (last === undefined ? 'Letzter Tag (jetzt ohne Ende)' : `Letzter Tag (jetzt ${last})`),
    button: 'Senken',
    back: 'So lassen, wie es ist',
    problems: {
      amount:
        'Schreiben Sie einen Betrag über null, etwa 12,50. Um nichts zu erlauben, halten Sie es an oder beenden Sie es.',
      higher: 'Das ist mehr, als jetzt erlaubt ist. Es kann nur gesenkt werden.',
      end: 'Wählen Sie einen Tag ab heute.',
      later: 'Das ist später, als es jetzt endet. Es kann nur früher enden.',
      nothing: 'Das ist schon jetzt so erlaubt. Es wurde nichts geändert.',
      changed:
        'Es hat sich geändert, seit Sie diese Seite geöffnet haben. So ist es jetzt: wählen Sie noch einmal.'
    }
  },
  stopping: {
    title: (client) => `Zahlungen durch ${client} beenden?`,
    means: (client) => [
      'Von da an kann damit nichts mehr bezahlt werden. Es kann nicht fortgesetzt werden.',
      `${client} sieht damit nichts mehr von Ihrer Wallet.`,
      'Zahlungen, die schon unterwegs sind, werden noch fertig, auch solche, die Ihr Anbieter noch freigeben muss.',
      `Um wieder bezahlt zu werden, müsste ${client} Sie noch einmal fragen.`,
      `Es beendet keinen Vertrag, den Sie mit ${client} haben, und nicht, was Sie schulden.`
    ],
    button: 'Endgültig beenden',
    back: 'Nicht beenden'
  },
  acts: { paused: 'Angehalten', resumed: 'Fortgesetzt', lowered: 'Gesenkt', stopped: 'Beendet' },
  receipt: {
    title: {
      paused: 'Sie haben das angehalten',
      resumed: 'Sie haben das fortgesetzt',
      lowered: 'Sie haben das gesenkt',
      stopped: 'Sie haben das beendet'
    },
    titleOfAnother: {
      paused: 'Das wurde angehalten',
      resumed: 'Das wurde fortgesetzt',
      lowered: 'Das wurde gesenkt',
      stopped: 'Das wurde beendet'
    },
    means: {
      paused:
        'Von da an konnte damit nicht bezahlt werden, bis es fortgesetzt wird. Was schon unterwegs war, wird noch fertig.',
      resumed: 'Von da an konnte damit wieder bezahlt werden.',
      lowered: 'Seitdem gelten die niedrigeren Grenzen.',
      stopped: 'Damit kann nichts mehr bezahlt werden. Was schon unterwegs war, wird noch fertig.'
    },
    keep: 'Drucken oder speichern Sie diese Seite, um sie aufzuheben.',
    agreedTitle: 'Was Sie vereinbart haben',
    agreedIntro: 'Das haben Sie erlaubt, als Sie gefragt wurden.',
    howToStop: (place) => `Sie können es jederzeit ansehen, anhalten, senken und beenden: ${place}`,
    back: 'Sehen, wie es jetzt ist'
  },
  meanwhile: {
    changed:
      'Es hat sich geändert, seit Sie jene Seite geöffnet haben. So ist es jetzt: wählen Sie noch einmal.',
    ended: 'Es ist inzwischen beendet: damit kann nichts mehr bezahlt werden.',
    unsure:
      'Wir konnten nicht sicherstellen, dass es überall gilt. Drücken Sie noch einmal: es schadet nicht, es zweimal zu tun.',
    repeat: 'Noch einmal versuchen',
    look: 'Sehen, wie es jetzt ist'
  }
}
