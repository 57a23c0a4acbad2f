import { describe, expect, it } from '@jest/globals'
import type { AccessItem } from '../../domain/authorization.js'
import { createResourceUrls } from '../../domain/resource-urls.js'
import { findWalletAddressPath, walletAddressKey } from './counted-requests.js'

const urls = createResourceUrls('https://wallet.example')
const ALICE = 'https://wallet.example/alice'
const BOB = 'https://wallet.example/bob'

const item = (type: string, identifier?: string): AccessItem => ({ type, actions: ['create'], identifier })

const keyOfRequest = (
  originalUrl: string,
  authorized: { body: Uint8Array | undefined; access: readonly AccessItem[] }
): string | undefined =>
  walletAddressKey(findWalletAddressPath({ originalUrl }, authorized, urls), authorized, urls)

/** What a list of payments of a wallet address, or the creation of one, is counted by. */
function keysOf(walletAddress: string, access: readonly AccessItem[]): (string | undefined)[] {
  const query = new URLSearchParams({ 'wallet-address': walletAddress }).toString()
  const body = Buffer.from(JSON.stringify({ walletAddress }))
  return [
    keyOfRequest(`/incoming-payments?${query}`, { body: undefined, access }),
    keyOfRequest('/incoming-payments', { body, access })
  ]
}

describe('a request about a wallet address', () => {
  it.each([
    ['with a token that its account holder agreed to', [item('outgoing-payment', ALICE)], 'consented:/alice'],
    [
      'with a token that is for more besides',
      [item('quote'), item('outgoing-payment', ALICE)],
      'consented:/alice'
    ],
    ['with a token for any wallet address', [item('incoming-payment')], 'unasked:/alice'],
    ['with a token for paying into it', [item('incoming-payment', ALICE)], 'unasked:/alice'],
    [
      'with a token that another account holder agreed to',
      [item('incoming-payment'), item('outgoing-payment', BOB)],
      'unasked:/alice'
    ]
  ])('%s counts for what it may use up', (_what, access, key) => {
    expect(keysOf(ALICE, access)).toEqual([key, key])
  })

  it('counts the same however the wallet address without a path is spelled', () => {
    const access = [item('outgoing-payment', 'https://wallet.example')]
    expect(keysOf('https://wallet.example/', access)).toEqual(keysOf('https://wallet.example', access))
  })

  it('that its token does not reach counts for the client alone', () => {
    expect(keysOf(ALICE, [item('outgoing-payment', BOB)])).toEqual([undefined, undefined])
    expect(keysOf(ALICE, [])).toEqual([undefined, undefined])
  })

  it('that is hosted elsewhere counts for the client alone', () => {
    expect(keysOf('https://other.example/alice', [item('quote')])).toEqual([undefined, undefined])
  })

  it('that it does not name is about the only one its token reaches', () => {
    const keyOf = (...access: AccessItem[]) =>
      keyOfRequest('/outgoing-payments/1', { body: undefined, access })
    expect(keyOf(item('outgoing-payment', ALICE))).toBe('consented:/alice')
    expect(keyOf(item('incoming-payment', ALICE))).toBe('unasked:/alice')
    expect(keyOf(item('outgoing-payment', ALICE), item('quote'))).toBeUndefined()
    expect(keyOf(item('incoming-payment'))).toBeUndefined()
  })
})
