import { describe, expect, it } from '@jest/globals'
import type { AskedGrant, AskedItem } from '../domain/grant.js'
import type { Receiver } from '../domain/payment.js'
import { describeGrant } from './describe-grant.js'
import { type Language, LANGUAGES, preferredLanguage, speak } from './languages.js'
import { addressOf, domainOf, presentableName } from './presentable.js'

const amount = (value: string, assetScale = 2) => ({ value, assetCode: 'USD', assetScale })
const paying = (limits?: AskedItem['limits']): AskedItem => ({
  type: 'outgoing-payment',
  actions: ['create'],
  identifier: 'https://wallet.example/alice',
  limits
})
const words = (
  item: AskedItem,
  language: Language = 'en',
  clientName = 'Shop',
  receivers: ReadonlyMap<string, Receiver> = new Map()
) => {
  const grant: AskedGrant = {
    grantId: '019a9d6c-6f04-7bb5-9f8a-6a2c6a3f3f10',
    returnOrigin: null,
    access: [item],
    walletAddress: 'https://wallet.example/alice',
    payees: null,
    state: 'PENDING',
    expiresAtMs: Date.UTC(2026, 0, 1, 12, 10),
    client: 'https://shop.example/pay',
    clientName,
    consentProof: 'required',
    signIn: null,
    subjects: [],
    document: { authServer: 'https://auth.example/' }
  }
  return describeGrant(grant, [item], receivers, speak(language, 'UTC'))
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

  it('warns of what has no limit, no end, or no payee', () => {
    expect(words(paying(undefined)).warnings).toHaveLength(2)
    expect(words(paying({ debitAmount: amount('1'), receiver: RECEIVER })).warnings).toEqual([])
    expect(words(paying({ ...MONTHLY, interval: 'R/2026-01-01T00:00:00Z/P1M' })).warnings).toContain(
      'This does not end by itself.'
    )
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

  it('shows letters that look like others in ASCII', () => {
    expect(domainOf('https://аррle.example/')).toMatch(/^xn--/)
    expect(addressOf('https://wallet.example:8443/alice')).toBe('wallet.example:8443/alice')
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
