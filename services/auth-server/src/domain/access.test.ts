import { describe, expect, it } from '@jest/globals'
import { type AccessItem, needsInteraction, parseConfiguredInteraction, walletAddressesOf } from './access.js'

describe('whether the account holder is asked', () => {
  const configured = parseConfiguredInteraction('quote:create , incoming-payment:complete,')

  it.each<[AccessItem, boolean]>([
    [{ type: 'outgoing-payment', actions: ['read'] }, true],
    [{ type: 'incoming-payment', actions: ['list-all'] }, true],
    [{ type: 'incoming-payment', actions: ['create', 'read', 'read-all', 'list'] }, false],
    [{ type: 'incoming-payment', actions: ['complete'] }, true],
    [{ type: 'quote', actions: ['create'] }, true],
    [{ type: 'quote', actions: ['read', 'read-all'] }, false]
  ])('for %j: %p', (access, expected) => {
    expect(needsInteraction([{ type: 'quote', actions: ['read'] }, access], configured)).toBe(expected)
  })

  it('cannot be configured for what does not exist', () => {
    for (const text of ['quote:complete', 'quote', 'payment:create']) {
      expect(() => parseConfiguredInteraction(text)).toThrow(/INTERACTION_REQUIRED_FOR/)
    }
  })
})

describe('the wallet addresses that a grant is told to', () => {
  const configured = parseConfiguredInteraction('incoming-payment:complete')
  const [alice, bob] = ['https://wallet.test/alice', 'https://wallet.test/bob']
  const receiving = (identifier: string, action = 'create'): AccessItem => ({
    type: 'incoming-payment',
    actions: [action],
    identifier
  })

  it('are not those that a client may be paid at by anybody, when another pays', () => {
    const paying: AccessItem = { type: 'outgoing-payment', actions: ['create'], identifier: alice }
    expect(walletAddressesOf([receiving(bob), paying], configured)).toEqual([alice])
    expect(walletAddressesOf([receiving(alice, 'list-all'), receiving(bob)], configured)).toEqual([alice])
    expect(walletAddressesOf([receiving(alice, 'complete'), receiving(bob)], configured)).toEqual([alice])
  })

  it('are all when nobody must consent', () => {
    expect(walletAddressesOf([receiving(alice), receiving(bob)], configured)).toEqual([alice, bob])
    expect(walletAddressesOf([{ type: 'quote', actions: ['read'] }], configured)).toEqual([])
  })
})
