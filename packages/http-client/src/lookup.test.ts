import type { LookupAddress } from 'node:dns'
import { describe, expect, it } from '@jest/globals'
import { guardedLookup } from './lookup.js'

/** Looks a name up as a connection does; resolves to the addresses it may connect to, or to why there are none. */
function lookUp(lookup: ReturnType<typeof guardedLookup>): Promise<unknown> {
  return new Promise((resolve) => {
    lookup('rebinding.invalid', { all: true }, (error, addresses) => {
      resolve(error ?? addresses)
    })
  })
}

describe('a name that leads elsewhere at every look-up', () => {
  const PUBLIC: LookupAddress = { address: '93.184.216.34', family: 4 }

  it.each(['127.0.0.1', '10.0.0.1', '169.254.169.254', '::1', '::ffff:127.0.0.1', '64:ff9b::7f00:1'])(
    'may be connected to while it is on the public internet, and not once it is at %s',
    async (address) => {
      const answers = [PUBLIC, { address, family: address.includes(':') ? 6 : 4 }, PUBLIC]
      const lookup = guardedLookup(async () => answers.splice(0, 1), false)
      expect(await lookUp(lookup)).toEqual([PUBLIC])
      expect(await lookUp(lookup)).toMatchObject({ reason: 'address' })
      expect(await lookUp(lookup)).toEqual([PUBLIC])
    }
  )
})
