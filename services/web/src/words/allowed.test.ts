import { describe, expect, it } from '@jest/globals'
import type { AllowedGrant, AllowedItem } from '../domain/allowed.js'
import type { Receiver } from '../domain/payment.js'
import { agreedBefore, allowedFacts, describeAllowed } from './describe-allowed.js'
import { payeeFacts, payeeName, warningsOf } from './describe-item.js'
import { speak } from './languages.js'

const usd = (value: string) => ({ value, assetCode: 'USD', assetScale: 2 })
const NOW = Date.UTC(2026, 2, 10)
const MARCH = { startMs: Date.UTC(2026, 2, 1), endMs: Date.UTC(2026, 3, 1) }
const ENGLISH = speak('en', 'UTC')
const MONTHLY = 'R/2026-01-01T00:00:00Z/P1M'

const item = (limits: AllowedItem['item']['limits'], changed: Partial<AllowedItem> = {}): AllowedItem => ({
  item: { type: 'outgoing-payment', actions: ['create'], limits },
  consentedLimits: limits,
  spentDebit: undefined,
  spentReceive: undefined,
  interval: undefined,
  ...changed
})
const words = (items: AllowedItem[], changed: Partial<AllowedGrant> = {}) => {
  const grant: AllowedGrant = {
    id: '019a9d6c-6f04-7bb5-9f8a-6a2c6a3f3f10',
    walletAddress: 'https://wallet.example/alice',
    isConsentOfAnother: false,
    client: 'https://shop.example/pay',
    clientKey: '',
    clientName: 'Shop',
    state: 'in-force',
    items,
    createdAtMs: NOW,
    lastUsedAtMs: undefined,
    isStoppable: true,
    endsAtMs: undefined,
    consentedEndsAtMs: undefined,
    paymentsEndMs: undefined,
    pausedAtMs: undefined,
    ...changed
  }
  return {
    ...describeAllowed(grant, new Map(), ENGLISH, NOW),
    agreed: agreedBefore(grant, ENGLISH),
    facts: allowedFacts(grant, new Map(), ENGLISH)
  }
}
const plain = (text: string | undefined): string | undefined => text?.replaceAll('\u00a0', ' ')

describe('what is spent', () => {
  it.each([
    ['2500', '0', '0.00 USD of 25.00 USD spent', 0],
    ['2500', '1', '0.01 USD of 25.00 USD spent', 1],
    ['2500', '2499', '24.99 USD of 25.00 USD spent', 100],
    ['2500', '3000', '30.00 USD of 25.00 USD spent', 100],
    [
      '18446744073709551615',
      '9223372036854775807',
      '92,233,720,368,547,758.07 USD of 184,467,440,737,095,516.15 USD spent',
      50
    ]
  ])('of %s is told exactly: %s', (most, spent, text, share) => {
    const limits = { debitAmount: usd(most), interval: MONTHLY }
    const [told] = words([item(limits, { spentDebit: usd(spent), interval: MARCH })]).spending
    expect({ ...told, text: plain(told?.text) }).toEqual({
      text,
      share,
      remark: 'Counts anew from 1 April 2026'
    })
  })

  it('counts anew only while there is another interval before the end', () => {
    const remark = (interval: string, endsAtMs?: number) =>
      words([item({ debitAmount: usd('1'), interval }, { interval: MARCH })], { endsAtMs }).spending[0]
        ?.remark
    expect(remark('R3/2026-01-01T00:00:00Z/P1M')).toBeUndefined()
    expect(remark('R4/2026-01-01T00:00:00Z/P1M')).toBe('Counts anew from 1 April 2026')
    expect(remark(MONTHLY, MARCH.endMs)).toBeUndefined()
    const begins = [item({ debitAmount: usd('1'), interval: 'R/2026-04-01T00:00:00Z/P1M' })]
    expect(words(begins).spending[0]?.remark).toBe('Begins on 1 April 2026')
  })

  it('has no share without a limit', () => {
    expect(words([item(undefined)]).spending).toEqual([
      { text: 'Never used', share: undefined, remark: undefined }
    ])
    const [told] = words([item(undefined, { spentDebit: usd('900') })]).spending
    expect([plain(told?.text), told?.share]).toEqual(['9.00 USD spent', undefined])
  })
})

describe('a grant that is allowed', () => {
  it('is told by address and limit, with its last day', () => {
    const told = words([item({ debitAmount: usd('2500'), interval: MONTHLY })], { endsAtMs: MARCH.endMs })
    expect(plain(told.headline)).toBe('shop.example/pay may take up to 25.00 USD a month')
    expect(plain(told.summary)).toBe('Up to 25.00 USD a month')
    expect(told.remarks).toEqual(['Ends after 31 March 2026'])
  })

  it.each<[string, string, string, AllowedItem['item']['limits'][]]>([
    [
      'that add up',
      'shop.example/pay may make 2 payments or more, up to 37.50 USD in all',
      '2 payments or more, up to 37.50 USD in all',
      [{ debitAmount: usd('2500') }, { receiver: 'https://wallet.example/1', debitAmount: usd('1250') }]
    ],
    [
      'of which one repeats',
      'shop.example/pay may pay from your wallet in 3 ways',
      'Pays from your wallet in 3 ways',
      [
        { debitAmount: usd('2500'), interval: MONTHLY },
        { debitAmount: usd('1250') },
        { debitAmount: usd('1') }
      ]
    ],
    [
      'of which one has no limit',
      'shop.example/pay may pay from your wallet in 2 ways',
      'Pays from your wallet in 2 ways',
      [{ debitAmount: usd('2500') }, undefined]
    ]
  ])('with several payments, %s, is told by all of them', (_which, headline, summary, limits) => {
    const told = words(limits.map((each) => item(each)))
    expect([plain(told.headline), plain(told.summary)]).toEqual([headline, summary])
    expect(told.spending).toHaveLength(limits.length)
    const ended = words(
      limits.map((each) => item(each)),
      { state: 'ended', endsAtMs: NOW }
    )
    expect(plain(ended.headline)).toBe(`shop.example/pay: ${summary}`)
  })

  it('for several payments says of each what it allows', () => {
    const { facts } = words([item({ debitAmount: usd('2500') }), item({ debitAmount: usd('1250') })])
    const told = facts.map(({ label, value }) => [label, plain(value)])
    expect(told.filter(([label]) => label !== 'To')).toEqual(
      expect.arrayContaining([
        ['It may', 'shop.example/pay may take up to 25.00 USD'],
        ['It may also', 'shop.example/pay may take up to 12.50 USD']
      ])
    )
  })

  it('under which nothing is paid any more says so, and what is left of it', () => {
    const actions = ['create', 'read', 'list-all']
    const limits = { debitAmount: usd('1'), interval: 'R1/2020-01-01T00:00:00Z/P1D' }
    const items = [
      item(limits, {
        item: { type: 'outgoing-payment', identifier: 'https://wallet.example/alice', actions, limits }
      })
    ]
    const told = words(items, { paymentsEndMs: Date.UTC(2020, 0, 2) })
    expect(plain(told.headline)).toBe('shop.example/pay: Up to 0.01 USD')
    expect(told.mark).toBe('No more payments')
    expect(told.remarks).toEqual([
      'Nothing is paid after 1 January 2020',
      'It may still see the payments that it made'
    ])
    expect(told.facts.filter(({ label }) => label === 'It may also')).toEqual([
      { label: 'It may also', value: 'see the payments that it made', remark: 'until you stop it' },
      {
        label: 'It may also',
        value: 'list every payment from this wallet, also those of others',
        remark: 'until 1 January 2020'
      }
    ])
    const ending = words(items, { paymentsEndMs: MARCH.endMs, endsAtMs: MARCH.endMs + 1 })
    expect(ending.mark).toBe('In force')
    expect(ending.remarks[0]).toBe('Nothing is paid after 31 March 2026')
  })

  it('that has ended is not told as if it went on', () => {
    const told = words([item({ debitAmount: usd('100') })], { state: 'ended', endsAtMs: NOW })
    expect(plain(told.headline)).toBe('shop.example/pay: Up to 1.00 USD')
    expect(told.remarks).toEqual(['Ended on 10 March 2026 at 00:00 UTC'])
  })

  it('is told by its key where the client has no domain', () => {
    const key = { client: '', clientKey: 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs' }
    expect(words([], key).headline).toBe('a client with the key NzbLsXh8 knows that this wallet is yours')
  })

  it('says what was agreed to only where it was more', () => {
    const limits = { debitAmount: usd('100') }
    expect(words([item(limits)]).agreed).toEqual([])
    const [agreed] = words([item(limits, { consentedLimits: { debitAmount: usd('200') } })]).agreed
    expect(plain(agreed?.value)).toBe('at most 2.00 USD, fees included')
  })
})

describe('a payee', () => {
  const URL_HERE = 'https://wallet.example/incoming-payments/1'
  const facts = (changed: Partial<Receiver>, url = URL_HERE) => {
    const receiver: Receiver = {
      ...{ url, place: 'here', walletAddress: 'https://wallet.example/bob', name: 'Bob', description: '' },
      ...changed
    }
    const receivers = new Map([[url, receiver]])
    return {
      name: payeeName(url, receivers, ENGLISH),
      facts: payeeFacts(url, receivers, ENGLISH),
      warnings: warningsOf({ ...item({ receiver: url, debitAmount: usd('1') }).item }, receivers, ENGLISH)
    }
  }

  it('here is told by name and address, and what it is for', () => {
    expect(facts({ description: 'Order 17' })).toEqual({
      name: 'Bob',
      facts: [
        { label: 'To', value: 'wallet.example/bob', remark: 'Bob' },
        { label: 'For', value: 'Order 17' }
      ],
      warnings: []
    })
    expect(facts({ name: '' }).name).toBe('wallet.example/bob')
  })

  it('is on one line, short, and changes no direction, whatever its name is', () => {
    const told = facts({ name: `\u202eBob\n<b>${'x'.repeat(500)}`, description: '\u2066y'.repeat(500) })
    expect(told.name).toMatch(/^Bob <b>x+…$/)
    expect([...told.name]).toHaveLength(60)
    expect([...(told.facts[1]?.value ?? '')]).toHaveLength(200)
    expect(told.facts[1]?.value).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/)
  })

  it('elsewhere is told by domain, with letters that look like others in ASCII', () => {
    const told = facts({ place: 'elsewhere', walletAddress: '' }, 'https://аррle.example/incoming-payments/1')
    expect(told.name).toMatch(/^a payee at xn--/)
    expect(told.facts[0]?.value).toMatch(/^xn--[^/]+\/incoming-payments\/1$/)
    expect(told.facts[0]?.remark).toContain('another provider')
  })

  it('elsewhere is told by the wallet address that its provider said, and the domain', () => {
    const walletAddress = 'https://other.example/dora'
    const told = facts(
      { place: 'elsewhere', walletAddress, name: '' },
      'https://other.example/incoming-payments/1'
    )
    expect(told.name).toBe('other.example/dora')
    expect(told.facts).toEqual([
      {
        label: 'To',
        value: 'other.example/dora',
        remark: 'at another provider, other.example, whose customers we do not know'
      }
    ])
  })

  it('that is not there any more is warned of', () => {
    expect(facts({ place: 'gone' }).warnings).toEqual(['What would be paid does not exist, or no longer.'])
  })
})
