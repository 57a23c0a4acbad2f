import { describe, expect, it } from '@jest/globals'
import { contentHash, type ReservationContent } from './content-hash.js'

const ALICE = 'https://wallet.example/alice'
const RECEIVER = 'https://wallet.example/incoming-payments/1'
const GRANT = '0190a8b1-0000-7000-8000-000000000001'
const payment: ReservationContent = {
  requestHash: Buffer.alloc(32, 3),
  walletAddress: ALICE,
  receiver: RECEIVER
}
const hashOf = (content: ReservationContent, grantId: string | undefined = GRANT): string =>
  contentHash(content, grantId).toString('hex')

describe('the content of a request for room', () => {
  it('is another one for another grant, request, wallet address or receiver', () => {
    const hashes = [
      hashOf(payment),
      hashOf(payment, GRANT.replace('1', '2')),
      contentHash(payment, undefined).toString('hex'),
      hashOf({ ...payment, requestHash: Buffer.alloc(32, 4) }),
      hashOf({ ...payment, walletAddress: RECEIVER }),
      hashOf({ ...payment, receiver: ALICE }),
      hashOf({ ...payment, walletAddress: RECEIVER, receiver: ALICE })
    ]
    expect(new Set(hashes).size).toBe(hashes.length)
  })

  it('is the same with a token, an amount or anything else beside it', () => {
    const repeated = { ...payment, tokenHash: Buffer.alloc(32, 2), receiveAmount: 91n }
    expect(hashOf(repeated)).toBe(hashOf(payment))
  })
})
