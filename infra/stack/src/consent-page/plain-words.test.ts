import { describe, expect, it } from '@jest/globals'
import { type AskedForWords, describeRequest } from './plain-words.js'

const ALICE = 'https://wallet.example/alice'
const RECEIVER = 'https://wallet.example/incoming-payments/1'
const usd = { value: '2500', assetCode: 'USD', assetScale: 2 }
const eur = { value: '2000', assetCode: 'EUR', assetScale: 2 }

type Limits = Partial<{
  receiver: string
  interval: string
  debitAmount: typeof usd
  receiveAmount: typeof usd
}>

function paying(limits?: Limits, actions = ['create']): AskedForWords {
  const access = [{ type: 'outgoing-payment', actions, identifier: ALICE, limits }]
  const [described] = describeRequest({ access, client: undefined, expiresAt: undefined, state: 'PENDING' })
  if (described === undefined) throw new Error('nothing was described')
  return described
}

function fact(words: AskedForWords, name: string): string | undefined {
  return words.facts.find(([candidate]) => candidate === name)?.[1]
}

describe('the request, in plain words', () => {
  it('states the total that may be paid', () => {
    const words = paying({ debitAmount: usd })
    expect(words.amount).toEqual({ figure: '25.00 USD', explanation: 'is the most you pay, in total' })
    expect(words.warning).toBeUndefined()
    expect(fact(words, 'From')).toBe(ALICE)
    expect(fact(words, 'To')).toBe('anyone it chooses')
    expect(fact(words, 'How often')).toBe('in one payment or in several, until that is used up')
  })

  it('states how often the amount restarts', () => {
    const words = paying({ debitAmount: usd, interval: 'R12/2026-01-01T00:00:00Z/P1M' })
    expect(words.amount?.explanation).toBe('is the most you pay, in each period')
    expect(fact(words, 'How often')).toBe(
      'every month from 1 January 2026, 12 times; the amount holds for each period'
    )
  })

  it('names both amounts when both apply, and the one receiver', () => {
    const words = paying({ debitAmount: usd, receiveAmount: eur, receiver: RECEIVER })
    expect(fact(words, 'How much')).toBe(
      'at most 25.00 USD leaves your wallet, and receivers get at most 20.00 EUR'
    )
    expect(fact(words, 'To')).toBe(RECEIVER)
  })

  it('distinguishes what receivers get from what the account holder pays', () => {
    const words = paying({ receiveAmount: eur })
    expect(words.amount?.explanation).toBe('is the most that is received, in total')
    expect(fact(words, 'How much')).toContain('you pay what it costs')
  })

  it.each([
    ['no limits', undefined],
    ['empty limits', {}],
    ['an interval alone', { interval: 'R/2026-01-01T00:00:00Z/P1M' }]
  ])('warns when there is no limit: %s', (_what, limits) => {
    const words = paying(limits)
    expect(words.amount).toBeUndefined()
    expect(words.warning).toContain('There is no limit. It may send any amount')
    expect(fact(words, 'How much')).toBe('no limit')
  })

  it('warns when only the receiver is limited', () => {
    expect(paying({ receiver: RECEIVER }).warning).toContain('no limit on the amount')
  })

  it('states what can be seen, and of whose payments', () => {
    expect(fact(paying({}, ['create', 'list-all']), 'Also')).toContain('every payment you made')
    const words = paying({}, ['read', 'list'])
    expect(words.title).toBe('See payments from your wallet')
    expect(words.warning).toBeUndefined()
    expect(fact(words, 'It may')).toBe('see the payments it made and list the payments it made')
    expect(fact(words, 'Your money')).toContain('no money leaves')
  })

  it('describes every item, and asks whose wallet it is', () => {
    const words = describeRequest({
      access: [
        { type: 'incoming-payment', actions: ['create', 'complete'], identifier: ALICE },
        { type: 'quote', actions: ['create'] },
        { type: 'other', actions: ['dance'] }
      ],
      subject: { sub_ids: [{ id: ALICE, format: 'uri' }] },
      client: undefined,
      expiresAt: undefined,
      state: 'PENDING'
    })
    expect(words.map(({ title }) => title)).toEqual([
      'Request payments into your wallet',
      'Ask what a payment would cost',
      'Something this page does not know: other',
      'Know that this wallet is yours'
    ])
    expect(words[2]?.facts).toContainEqual(['It may', '“dance”'])
  })

  it.each([
    ['the wallet that is asked', ALICE, 'your wallet', ALICE],
    [
      'the wallet of somebody else',
      'https://wallet.example/bob',
      'another wallet',
      'https://wallet.example/bob'
    ],
    [
      'every wallet, where none is named',
      undefined,
      'any wallet',
      'every wallet here, also those of others: nobody’s consent is needed for that'
    ]
  ])('says into which wallet payments may be requested: %s', (_which, identifier, title, into) => {
    const [words] = describeRequest({
      access: [{ type: 'incoming-payment', actions: ['create', 'read-all'], identifier }],
      walletAddress: ALICE,
      client: undefined,
      expiresAt: undefined,
      state: 'PENDING'
    })
    expect(words?.title).toBe(`Request payments into ${title}`)
    expect(words?.facts[0]?.slice(0, 2)).toEqual(['Into', into])
    expect(JSON.stringify(words)).not.toContain('of yours')
  })

  const bob = 'https://wallet.example/bob'
  const everyWallet = 'every wallet here, also those of others: nobody’s consent is needed for that'
  const othersOfYours = 'every wallet here, but the prices that others asked for are shown only for yours'
  const ownPrices = 'see the prices it asked for'
  const everyPrice = 'see every price that was asked for payments from your wallet, also by others'
  const everyRequest = 'see every request for payment there, and what was received'
  const everyPayment = 'see every payment you made, also those that others made for you'

  // What the resource server shows: see docs/decisions/others-resources.md.
  it.each([
    ['quote', ['create'], undefined, everyWallet, 'ask what a payment would cost'],
    ['quote', ['read'], undefined, everyWallet, ownPrices],
    ['quote', ['read-all'], undefined, othersOfYours, everyPrice],
    [
      'quote',
      ['create', 'read-all'],
      undefined,
      othersOfYours,
      `ask what a payment would cost and ${everyPrice}`
    ],
    ['quote', ['read-all'], ALICE, ALICE, everyPrice],
    ['quote', ['read-all'], bob, bob, ownPrices],
    ['quote', ['read', 'read-all'], bob, bob, ownPrices],
    ['incoming-payment', ['create'], undefined, everyWallet, 'create requests for payment'],
    ['incoming-payment', ['complete'], undefined, everyWallet, 'close the requests it made'],
    ['incoming-payment', ['read'], bob, bob, 'see the requests it made'],
    ['incoming-payment', ['list'], ALICE, ALICE, 'list the requests it made'],
    ['incoming-payment', ['read-all'], undefined, everyWallet, everyRequest],
    ['incoming-payment', ['read-all'], bob, bob, everyRequest],
    ['incoming-payment', ['list-all'], ALICE, ALICE, everyRequest.replace('see', 'list')],
    ['outgoing-payment', ['read'], ALICE, ALICE, 'see the payments it made'],
    ['outgoing-payment', ['list'], ALICE, ALICE, 'list the payments it made'],
    ['outgoing-payment', ['read-all'], ALICE, ALICE, everyPayment],
    ['outgoing-payment', ['list-all'], ALICE, ALICE, everyPayment.replace('see', 'list')]
  ])('says what consent to %s %j of %s opens', (type, actions, identifier, wallet, opens) => {
    const [words] = describeRequest({
      access: [{ type, actions, identifier }],
      walletAddress: ALICE,
      client: undefined,
      expiresAt: undefined,
      state: 'PENDING'
    })
    expect(words?.facts[0]?.[1]).toBe(wallet)
    expect(words && fact(words, 'It may')).toBe(opens)
  })

  it('shows the raw text of an amount or interval that cannot be parsed', () => {
    const words = paying({ debitAmount: { ...usd, value: '-1' }, interval: 'often' })
    expect(words.amount?.figure).toBe('-1 units of USD')
    expect(fact(words, 'How often')).toContain('often')
  })
})
