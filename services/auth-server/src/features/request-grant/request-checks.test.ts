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
  getReceiverAsset: () => Promise.reject(new DirectoryBusy())
}

describe('whose consent is asked for', () => {
  const WALLET = 'https://wallet.test'
  const paying = (identifier: string) =>
    ({ type: 'outgoing-payment', actions: ['create'], identifier }) as const
  const check = (first: string, second: string) =>
    checkConsentable(
      { access: [paying(first), paying(second)], subject: undefined },
      () => true,
      GRANT_ENDPOINT,
      { ...directory, getWalletAddress: (url) => directory.getWalletAddress(url === ALICE ? url : ALICE) }
    )

  it.each([
    ['a final slash', `${ALICE}/`],
    ['a default port', 'https://wallet.test:443/alice'],
    ['upper case in scheme and host', 'HTTPS://Wallet.Test/alice'],
    ['a path that turns back', `${WALLET}/x/../alice`]
  ])('is one holder’s with %s, and the field is told the right spelling', async (_how, other) => {
    const problem = {
      details: { 'access_token.access[1].identifier': `the wallet address is spelled ${ALICE}` }
    }
    await expect(check(ALICE, other)).rejects.toMatchObject(problem)
  })

  it.each([
    ['another case of the path', `${WALLET}/Alice`],
    ['another port', 'https://wallet.test:8443/alice'],
    ['another scheme', 'http://wallet.test/alice'],
    ['a longer path', `${ALICE}/alice`],
    ['an escaped slash', `${ALICE}%2f`],
    ['a query', `${ALICE}?`],
    ['a fragment', `${ALICE}#`]
  ])('is two holders’ with %s', async (_how, other) => {
    const problem = expect.stringContaining('one account holder is asked')
    await expect(check(ALICE, other)).rejects.toMatchObject({
      details: { 'access_token.access[1].identifier': problem }
    })
  })
})

describe('a limit that names a receiver', () => {
  it('does not depend on room for asking a receiver', async () => {
    const limits = {
      receiver: 'https://elsewhere.test/incoming-payments/1',
      receiveAmount: { value: 100n, asset: { code: 'EUR', scale: 2 } }
    }
    const item = { type: 'outgoing-payment', actions: ['create'], identifier: ALICE, limits } as const
    const request = { access: [item], subject: undefined }
    await expect(checkConsentable(request, () => true, GRANT_ENDPOINT, directory)).resolves.toEqual({
      walletAddress: ALICE,
      access: [item]
    })
  })
})
