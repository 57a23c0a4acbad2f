import { describe, expect, it } from '@jest/globals'
import { type AccessItem, needsInteraction, parseConfiguredInteraction } from './access.js'

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
