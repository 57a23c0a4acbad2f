import type { LookupAddress } from 'node:dns'
import { describe, expect, it } from '@jest/globals'
import { GuardedLookups, type Lookup } from './lookup.js'
import { isPublicAddress } from './public-address.js'

const HOST = 'rebinding.invalid'

/** Looks a name up as a connection does; resolves to the permitted addresses, or the error. */
function lookUp(lookups: GuardedLookups): Promise<unknown> {
  return new Promise((resolve) => {
    lookups.lookup(HOST, { all: true }, (error, addresses) => {
      resolve(error ?? addresses)
    })
  })
}

describe('a name with another address at every lookup', () => {
  const PUBLIC: LookupAddress = { address: '93.184.216.34', family: 4 }

  it.each(['127.0.0.1', '10.0.0.1', '169.254.169.254', '::1', '::ffff:127.0.0.1', '64:ff9b::7f00:1'])(
    'may be connected to while it is on the public internet, and not once it is at %s',
    async (address) => {
      const answers = [PUBLIC, { address, family: address.includes(':') ? 6 : 4 }, PUBLIC]
      const lookups = new GuardedLookups(async () => answers.splice(0, 1), isPublicAddress)
      lookups.want(HOST)
      expect(await lookUp(lookups)).toEqual([PUBLIC])
      expect(await lookUp(lookups)).toMatchObject({ reason: 'address' })
      expect(await lookUp(lookups)).toEqual([PUBLIC])
    }
  )
})

describe('a look-up', () => {
  it('is cancelled with its last request, and not started without one', async () => {
    const signals: AbortSignal[] = []
    const lookup: Lookup = (_hostname, signal) => {
      signals.push(signal)
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reject(signal.reason as Error)
        })
      })
    }
    const lookups = new GuardedLookups(lookup, isPublicAddress)
    const [endFirst, endSecond] = [lookups.want(HOST), lookups.want(HOST)]
    const ended = lookUp(lookups)
    endFirst()
    expect(signals.map(({ aborted }) => aborted)).toEqual([false])
    endSecond()
    expect(await ended).toBeInstanceOf(Error)
    expect(await lookUp(lookups)).toBeInstanceOf(Error)
    expect(signals).toHaveLength(1)
  })
})
