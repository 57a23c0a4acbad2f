import { describe, expect, it } from '@jest/globals'
import { type ClientDirectory, DirectoryBusy } from '../../domain/clients.js'
import { checkConsentable } from './request-checks.js'

const ALICE = 'https://wallet.test/alice'
const GRANT_ENDPOINT = 'https://auth.test/'

/** A directory that knows alice, and has no room for asking receivers. */
const directory: Pick<ClientDirectory, 'getWalletAddress' | 'getReceiverAsset'> = {
  getWalletAddress: async (url) => ({
    id: url,
    publicName: undefined,
    assetCode: 'USD',
    assetScale: 2,
    authServer: GRANT_ENDPOINT
  }),
  getReceiverAsset: () => Promise.reject(DirectoryBusy.withoutRoom())
}

describe('a limit that names a receiver', () => {
  it('does not depend on room for asking a receiver', async () => {
    const limits = {
      receiver: 'https://elsewhere.test/incoming-payments/1',
      receiveAmount: { value: 100n, asset: { code: 'EUR', scale: 2 } }
    }
    const item = { type: 'outgoing-payment', actions: ['create'], identifier: ALICE, limits } as const
    const request = { access: [item], subject: undefined }
    await expect(checkConsentable(request, () => true, GRANT_ENDPOINT, directory)).resolves.toBeUndefined()
  })
})
