import { createClient, callUnary } from '@open-payments-server/grpc-transport'
import { wallet } from '@open-payments-server/proto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { type SendingWorld, startSendingWorld } from './support/sending-world.js'

let world: SendingWorld
let client: wallet.HolderServiceClient
let ownWalletAddress: string

beforeAll(async () => {
  world = await startSendingWorld()
  client = createClient(wallet.HolderServiceClient, {
    target: `127.0.0.1:${String(world.server.grpcPort)}`,
    deadlineMs: 10_000,
    retriesMax: 3,
    messageBytesMax: 4_194_304
  })
  ownWalletAddress = `${new URL(world.provider.url).origin}/dora`
})
afterAll(async () => {
  client.close()
  await world.stop()
})
beforeEach(() => {
  world.ask()
  world.provider.answer('payment')
  world.provider.payment = { ...world.provider.payment, walletAddress: ownWalletAddress }
  world.provider.arrived.length = 0
})

const ask = async (askProviders: boolean, ...urls: string[]): Promise<wallet.Receiver[]> =>
  (await callUnary(client, 'describeReceivers', { urls, askProviders }, { idempotent: true })).receivers
const walletAddressesOf = async (...urls: string[]): Promise<string[]> =>
  (await ask(true, ...urls)).map(({ walletAddress }) => walletAddress)

describe('payees at another provider', () => {
  it('are told by the wallet address that it says', async () => {
    const [told] = await ask(true, world.provider.url)
    expect(told).toMatchObject({
      url: world.provider.url,
      kind: wallet.ReceiverKind.RECEIVER_KIND_ELSEWHERE,
      domain: new URL(world.provider.url).host,
      walletAddress: ownWalletAddress,
      publicName: '',
      asset: undefined
    })
  })

  it('are not asked for unless that is wanted', async () => {
    expect((await ask(false, world.provider.url)).map(({ walletAddress }) => walletAddress)).toEqual([''])
    expect(world.provider.arrived).toEqual([])
  })

  it.each([
    ["another provider's customer", 'https://wallet.example/bob'],
    ['another port', () => `http://${new URL(ownWalletAddress).hostname}:1/dora`],
    ['a query', () => `${ownWalletAddress}?as=bank`],
    ['more than people read', () => `${ownWalletAddress}/${'x'.repeat(200)}`]
  ])('stay unknown where the provider names %s', async (_what, named) => {
    const walletAddress = typeof named === 'string' ? named : named()
    world.provider.payment = { ...world.provider.payment, walletAddress }
    expect(await walletAddressesOf(world.provider.url)).toEqual([''])
  })

  it.each([
    ['knows nothing of them', { status: 404, body: {} }],
    ['fails', { status: 500, body: {} }],
    ['tells nonsense', { body: { id: 1 } }]
  ])('stay unknown where the provider %s', async (_what, answer) => {
    world.provider.answer('payment', answer)
    expect(await walletAddressesOf(world.provider.url)).toEqual([''])
  })

  it('stay unknown where the provider does not answer in time', async () => {
    world.provider.answer('payment', () => undefined)
    expect(await walletAddressesOf(world.provider.url)).toEqual([''])
  })

  it('are asked for three times at most', async () => {
    const urls = [1, 2, 3, 4, 5].map((number) => world.provider.add(`p${String(number)}`, {}))
    expect(await walletAddressesOf(...urls)).toEqual([
      ...Array.from({ length: 3 }, () => ownWalletAddress),
      '',
      ''
    ])
    expect(world.provider.arrived.filter(({ token }) => token !== undefined)).toHaveLength(3)
  })
})
