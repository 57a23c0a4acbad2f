import { UINT64_MAX } from '@open-payments-server/value-types/amounts'
import { describe, expect, it } from '@jest/globals'
import * as fc from 'fast-check'
import type { AccessItem } from '../../domain/access.js'
import { restoreAccessItem, storeAccessItem } from './access-items.js'

const amount = fc.record({
  value: fc.bigInt({ min: 0n, max: UINT64_MAX }),
  asset: fc.record({ code: fc.string({ minLength: 1 }), scale: fc.integer({ min: 0, max: 255 }) })
})
const limits = fc
  .record(
    { receiver: fc.webUrl(), interval: fc.string(), debitAmount: amount, receiveAmount: amount },
    { requiredKeys: [] }
  )
  .filter((record) => Object.keys(record).length > 0)
const item: fc.Arbitrary<AccessItem> = fc.record(
  {
    type: fc.constantFrom('incoming-payment' as const, 'outgoing-payment' as const, 'quote' as const),
    actions: fc.array(fc.string()),
    identifier: fc.webUrl(),
    limits
  },
  { requiredKeys: ['type', 'actions'] }
)

describe('an access item', () => {
  it('comes back from the database as it went in', () => {
    fc.assert(
      fc.property(item, (given) => {
        expect(restoreAccessItem(storeAccessItem(given))).toEqual(given)
      })
    )
  })
})
