import { describe, expect, it } from '@jest/globals'
import type { AskedGrant, AskedItem } from '../domain/grant.js'
import type { Receiver } from '../domain/payment.js'
import { describeGrant } from './describe-grant.js'
import { type Language, LANGUAGES, preferredLanguage, speak } from './languages.js'
import { addressOf, domainOf, presentableName, presentableText } from './presentable.js'

const amount = (value: string, assetScale = 2) => ({ value, assetCode: 'USD', assetScale })
const paying = (limits?: AskedItem['limits']): AskedItem => ({
  type: 'outgoing-payment',
  actions: ['create'],
  identifier: 'https://wallet.example/alice',
  limits
})
const words = (
  asked: AskedItem | readonly AskedItem[],
  language: Language = 'en',
  client = 'https://shop.example/',
  receivers: ReadonlyMap<string, Receiver> = new Map(),
  endsAtMs?: number
) => {
  const items = 'type' in asked ? [asked] : asked
  const grant: AskedGrant = {
    grantId: '019a9d6c-6f04-7bb5-9f8a-6a2c6a3f3f10',
    returnOrigin: null,
    access: items,
    walletAddress: 'https://wallet.example/alice',
    payees: null,
    state: 'PENDING',
    endsAtMs: undefined,
    expiresAtMs: Date.UTC(2026, 0, 1, 12, 10),
    client,
    clientName: 'Shop',
    consentProof: 'required',
    signIn: null,
    subjects: [],
    document: { authServer: 'https://auth.example/' }
  }
  return describeGrant(grant, { access: items, endsAtMs }, receivers, speak(language, 'UTC'))
}
const MONTHLY = { debitAmount: amount('2500'), interval: 'R12/2026-01-01T00:00:00Z/P1M' }
const RECEIVER = 'https://pay.example/incoming-payments/1'

describe('a request in words', () => {
  it.each<[AskedItem['limits'], string, string, string, string]>([
    [
      MONTHLY,
      'Let shop.example take up to 25.00 USD a month',
      'Allow 25.00 USD a month',
      'shop.example erlauben, bis zu 25,00 USD im Monat abzubuchen',
      '25,00 USD im Monat erlauben'
    ],
    [
      { debitAmount: amount('1000'), receiver: RECEIVER },
      'Pay 10.00 USD to a payee at pay.example',
      'Pay 10.00 USD',
      '10,00 USD an einen Empfänger bei pay.example zahlen',
      '10,00 USD zahlen'
    ],
    [
      { debitAmount: amount('2500'), interval: 'R/2026-01-01T00:00:00Z/P3M' },
      'Let shop.example take up to 25.00 USD every 3 months',
      'Allow 25.00 USD every 3 months',
      'shop.example erlauben, bis zu 25,00 USD alle 3 Monate abzubuchen',
      '25,00 USD alle 3 Monate erlauben'
    ],
    [
      undefined,
      'Let shop.example take any amount',
      'Allow',
      'shop.example erlauben, beliebige Beträge abzubuchen',
      'Erlauben'
    ]
  ])('with the limits %j says what happens', (limits, headline, allow, germanHeadline, germanAllow) => {
    const plain = (text: string): string => text.replaceAll('\u00a0', ' ')
    const [english, german] = [words(paying(limits)), words(paying(limits), 'de')]
    expect([english.headline, english.allow].map(plain)).toEqual([headline, allow])
    expect([german.headline, german.allow].map(plain)).toEqual([germanHeadline, germanAllow])
  })

  const otherReceiver = { debitAmount: amount('900000'), receiver: `${RECEIVER}2` }
  it.each<[string, AskedItem['limits'], string, string, string, string]>([
    [
      'their sum where they have one',
      otherReceiver,
      'Let shop.example make 2 payments or more, up to 9,001.00 USD in all',
      'Allow 9,001.00 USD in all',
      'shop.example 2 oder mehr Zahlungen erlauben, insgesamt bis zu 9.001,00 USD',
      'Insgesamt 9.001,00 USD erlauben'
    ],
    ...(
      [
        ['how many they are where one repeats', MONTHLY],
        ['how many they are in two assets', { debitAmount: { ...amount('1'), assetCode: 'EUR' } }],
        ['how many they are where one is of what the payee gets', { receiveAmount: amount('1') }],
        ['how many they are where one has no limit', undefined],
        ['how many they are where the sum is no amount', { debitAmount: amount('18446744073709551615') }]
      ] as const
    ).map(([what, limits]): [string, AskedItem['limits'], string, string, string, string] => [
      what,
      limits,
      'Let shop.example pay from your wallet in 2 ways',
      'Allow all 2',
      'shop.example erlauben, auf 2 Arten aus Ihrer Wallet zu zahlen',
      'Alle 2 erlauben'
    ])
  ])(
    'for several payments says %s, and warns',
    (_what, limits, headline, allow, germanHeadline, germanAllow) => {
      const plain = (text: string): string => text.replaceAll('\u00a0', ' ')
      const items = [paying({ debitAmount: amount('100'), receiver: RECEIVER }), paying(limits)]
      const [english, german] = [words(items), words(items, 'de')]
      expect([english.headline, english.allow].map(plain)).toEqual([headline, allow])
      expect([german.headline, german.allow].map(plain)).toEqual([germanHeadline, germanAllow])
      expect(english.warnings[0]).toBe('This is more than one thing to pay. What each allows adds up.')
      expect(english.facts.map(({ label, value }) => `${label}: ${plain(value)}`)).toContain(
        'It may: Pay 1.00 USD to a payee at pay.example'
      )
    }
  )

  it('does not call two spellings of one interval one amount', () => {
    const spelled = ['R12/2026-01-01T00:00:00Z/P1M', 'R12/2026-01-01T00:00:00.000Z/P1M']
    const { allow } = words(spelled.map((interval) => paying({ ...MONTHLY, interval })))
    expect(allow).toBe('Allow all 2')
  })

  it('warns of what has no limit, no end, or no payee', () => {
    expect(words(paying(undefined)).warnings).toHaveLength(2)
    expect(words(paying({ debitAmount: amount('1'), receiver: RECEIVER })).warnings).toEqual([])
    expect(words(paying({ ...MONTHLY, interval: 'R/2026-01-01T00:00:00Z/P1M' })).warnings).toContain(
      'This does not end by itself.'
    )
  })

  const also = (told: ReturnType<typeof words>): unknown[] =>
    told.facts
      .filter(({ label }) => ['It may also', 'Last day of all of it'].includes(label))
      .map(({ value, remark }) => [value, remark])
  const OWN = 'see the payments that it made'
  const ALL = 'list every payment from this wallet, also those of others'

  it('says until when each right holds: what shows what others made ends with what pays', () => {
    const asked = { ...paying(MONTHLY), actions: ['create', 'read', 'list-all'] }
    const quotes = { type: 'quote', actions: ['read-all'] }
    expect(also(words([asked, quotes]))).toEqual([
      [OWN, 'until you stop it'],
      [ALL, 'until 31 December 2026'],
      [
        'see every price that was asked for payments from this wallet',
        'any wallet here; until 31 December 2026'
      ]
    ])
    expect(words([asked, quotes]).words).toContain(`It may also: ${ALL} (until 31 December 2026)`)
    const endless = { ...asked, limits: { debitAmount: amount('1') } }
    expect(also(words(endless))).toEqual([
      [expect.stringContaining(`${OWN} and ${ALL}`), 'until you stop it']
    ])
    expect(also(words({ ...asked, limits: { interval: 'R1/2020-01-01T00:00:00Z/P1D' } }))).toEqual([
      [OWN, 'until you stop it'],
      [ALL, 'until 1 January 2020']
    ])
  })

  it('says the last day of all of it, and that what has one does not go on', () => {
    const asked = { ...paying({ interval: 'R/2026-01-01T00:00:00Z/P1M' }), actions: ['create', 'list-all'] }
    const told = words([asked], 'en', undefined, undefined, Date.UTC(2026, 5, 1))
    expect(also(told)).toEqual([
      [ALL, 'until 31 May 2026'],
      ['31 May 2026', undefined]
    ])
    expect(told.warnings).not.toContain('This does not end by itself.')
    const german = words([asked], 'de', undefined, undefined, Date.UTC(2026, 5, 1))
    expect(german.words).toContain('Letzter Tag von allem: 31. Mai 2026')
  })

  it('names a client by its path, too, which may be all that tells it from others', () => {
    const { headline, facts, warnings } = words(paying(MONTHLY), 'en', 'https://shop.example/pay')
    expect(headline.replaceAll('\u00a0', ' ')).toBe('Let shop.example/pay take up to 25.00 USD a month')
    expect(facts[0]?.value).toBe('shop.example/pay')
    expect(warnings).toEqual(words(paying(MONTHLY)).warnings)
  })

  it.each<[string, boolean]>([
    ['https://wallet.example/mallory', true],
    ['https://wallet.example:443/alice/', true],
    ['https://wallet.example/', false],
    ['https://wallet.example/alice', false],
    ['https://wallet.example:8443/mallory', false],
    ['https://mallory.wallet.example/alice', false],
    ['wallet.example/mallory', false]
  ])('says of %s whether that is another customer of the provider: %s', (client, isCustomer) => {
    const [english, german] = [words(paying(MONTHLY), 'en', client), words(paying(MONTHLY), 'de', client)]
    const warnings = [
      'Another customer of your provider asks for this, not your provider itself.',
      'Das möchte ein anderer Kunde Ihres Anbieters, nicht Ihr Anbieter selbst.'
    ]
    const isWarned = [english, german].map((each, place) => each.warnings.includes(warnings[place] ?? ''))
    expect(isWarned).toEqual([isCustomer, isCustomer])
    expect(english.words.includes(warnings[0] ?? '')).toBe(isCustomer)
  })

  it('is the same in the document as on the page, paragraph by paragraph', () => {
    const { words: paragraphs, facts, headline, warnings } = words(paying(MONTHLY))
    expect(paragraphs).toHaveLength(1 + warnings.length + facts.length)
    expect(paragraphs[0]).toBe(headline)
    for (const paragraph of paragraphs) expect(paragraph.length).toBeLessThanOrEqual(2000)
  })

  it('names every action in every language', () => {
    const [known, ...others] = Object.values(LANGUAGES).map(({ actions }) => Object.keys(actions).sort())
    for (const other of others) expect(other).toEqual(known)
  })
})

describe('amounts', () => {
  it.each([
    ['18446744073709551615', 2, '184,467,440,737,095,516.15\u00a0USD', '184.467.440.737.095.516,15\u00a0USD'],
    ['5', 9, '0.000000005\u00a0USD', '0,000000005\u00a0USD'],
    ['1000', 0, '1,000\u00a0USD', '1.000\u00a0USD']
  ])('of %s at scale %d are exact', (value, scale, english, german) => {
    expect(speak('en', 'UTC').formats.amount(amount(value, scale))).toBe(english)
    expect(speak('de', 'UTC').formats.amount(amount(value, scale))).toBe(german)
  })
})

describe('what strangers write', () => {
  it('is on one line, short, and changes no direction', () => {
    const shown = presentableName(`Your bank\u202e\u0000\n\u200bsays: ${'x'.repeat(500)}`)
    expect(shown).toMatch(/^Your bank says: x+…$/)
    expect([...shown]).toHaveLength(60)
    expect(presentableName('\u202e\u2066')).toBe('')
  })

  it.each(['\u115f\u1160', '\u2800', '\u3164', '\uffa0', '\u0301\u0338', '\u034f'])(
    'is no name where nothing can be seen: %j',
    (name) => {
      expect(presentableName(name)).toBe('')
    }
  )

  it.each([
    ['Shop”; your bank, “Shop', "Shop'; your bank, 'Shop"],
    ['„A“ «B» ‟C" ＂D〞', "'A' 'B' 'C' 'D'"],
    ["A'' B’’ C'\"' D‚‚", "A' B' C' D'"],
    ['O’Brien’s & L‘Amour 6′', 'O’Brien’s & L‘Amour 6′'],
    ['\u0338\u0338Shop', 'Shop']
  ])('does not leave its quotation marks: %s', (name, shown) => {
    expect(presentableName(name)).toBe(shown)
    expect(presentableText(name)).toBe(shown)
  })

  it('covers no other line with marks', () => {
    expect(presentableName(`Sh${'\u0336\u0489\u031b'.repeat(20)}op`)).toMatch(/^Sh\p{M}{2}op$/u)
    expect(presentableName(`ก${'\u0e49'.repeat(20)}`)).toBe(`ก${'\u0e49'.repeat(4)}`)
  })

  it.each([
    ['Thai', 'ร้านน้ำปั่นที่นี่'],
    ['Hebrew with points and accents', 'בְּרֵאשִׁ֖ית'],
    ['Arabic with vowels', 'مُحَمَّدٌ'],
    ['Hindi', 'श्रीमती स्त्रियाँ'],
    ['Burmese', 'မြို့'],
    ['Tibetan', 'བརྒྱུད་བསྒྲུབས'],
    ['Korean', '한국은행'],
    ['Vietnamese, taken apart', 'Tiệm Phở Nguyễn'.normalize('NFD')],
    ['Greek with three accents, taken apart', 'ᾧ'.normalize('NFD')]
  ])('stays readable in %s', (_language, name) => {
    expect(presentableName(name)).toBe(name.normalize('NFC'))
  })

  it('shows letters that look like others in ASCII', () => {
    expect(domainOf('https://аррle.example/')).toMatch(/^xn--/)
    expect(addressOf('https://wallet.example:8443/alice')).toBe('wallet.example:8443/alice')
    expect(addressOf('https://аррle.example/“аррle”')).toMatch(/^xn--[^/]+\/%E2%80%9C%D0%B0[!-~]+$/)
  })

  it('shows a host whole, and a path until it is too long', () => {
    const host = `wallet.example.${'a.'.repeat(110)}example`
    expect(addressOf(`https://${host}/`)).toBe(host)
    expect(addressOf(`https://${host}/alice`)).toBe(`${host}/alice`)
    expect(addressOf(`https://${host}/${'a'.repeat(300)}`)).toBe(`${host}/${'a'.repeat(198)}…`)
  })
})

describe('the language', () => {
  it.each([
    ['de-AT,de;q=0.9,en;q=0.8', 'de'],
    ['fr, de;q=0.5, en;q=0.7', 'en'],
    ['fr', 'en'],
    ['de;q=0, *', 'en'],
    [undefined, 'en']
  ])('for %s is %s', (accepted, language) => {
    expect(preferredLanguage(accepted)).toBe(language)
  })
})
