import { expect, it } from '@jest/globals'
import { formatAccessItem } from '../domain/access.js'
import { access } from './access-schema.js'

const ITEM = { type: 'outgoing-payment', actions: ['create'], identifier: 'https://wallet.example/alice' }

it('takes limits that limit nothing for none', () => {
  expect(access.parse([{ ...ITEM, limits: {} }]).map(formatAccessItem)).toEqual([ITEM])
})
