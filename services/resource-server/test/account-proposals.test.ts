import { randomUUID } from 'node:crypto'
import type { wallet } from '@open-payments-server/proto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  type OperatedWorld,
  proposalOf,
  refusalOf,
  startOperatedWorld,
  type TestOperator
} from './support/operators.js'
import { ALICE, PUBLIC_URL } from './support/payment-world.js'

const USD = { code: 'USD', scale: 2 }
/** An asset in which every amount counts. */
const JPY = { code: 'JPY', scale: 0 }
/** 10,000.00: a second person is needed from twice as much on. */
const HALF = 1_000_000n

let world: OperatedWorld
let olga: TestOperator
let tom: TestOperator

beforeAll(async () => {
  world = await startOperatedWorld({ OPERATOR_SECOND_PERSON_FROM: '20000.00 USD, 20000.00 EUR' })
  olga = await world.signIn('olga', ['operator', 'approver'])
  tom = await world.signIn('tom', ['approver'])
})
afterAll(async () => {
  await world.whenDelivered()
  expect(await world.audit()).toEqual([])
  await world.stop()
})

const urlOf = (accountName: string) => `${PUBLIC_URL}/${accountName}`
const createAccount = (name: string, asset = USD) => olga.wallets('createAccount', { name, asset })
const createWalletAddress = (accountName: string, path: string) =>
  olga.wallets('createWalletAddress', { path, publicName: '', accountName })
const deposit = (accountName: string, value: bigint) =>
  olga.wallets('deposit', { depositId: randomUUID(), accountName, value: String(value) })
const setHolder = (accountName: string, sub: string | undefined) =>
  olga.wallets('setAccountHolder', {
    accountName,
    holder: sub === undefined ? undefined : { issuer: 'https://login.test', sub }
  })
const accountOf = async (name: string): Promise<wallet.Account | undefined> =>
  (await olga.wallets('listAccounts', { name, pageSize: 0, pageToken: '' })).accounts[0]
const addressesOf = async (accountName: string): Promise<wallet.WalletAddress[]> => {
  const request = { accountName, walletAddress: '', pageSize: 0, pageToken: '' }
  return (await olga.wallets('listWalletAddresses', request)).walletAddresses
}

/** Something by which the money of an account comes into other hands, or gets free. */
interface Freeing {
  /** Done while the account holds nothing. */
  readonly prepare?: (accountName: string) => Promise<unknown>
  readonly act: (accountName: string) => Promise<unknown>
  /** What it changes, and what that is after it. */
  readonly state: (accountName: string) => Promise<unknown>
  readonly after: unknown
}

const holderOf = async (name: string) => (await accountOf(name))?.holder?.sub
const FREEING: readonly (readonly [string, Freeing])[] = [
  ['gets its first holder', { act: (name) => setHolder(name, 'dan'), state: holderOf, after: 'dan' }],
  [
    'gets another holder',
    {
      prepare: (name) => setHolder(name, 'dora'),
      ...{ act: (name) => setHolder(name, 'dan'), state: holderOf, after: 'dan' }
    }
  ],
  [
    'has no holder any more',
    {
      prepare: (name) => setHolder(name, 'dora'),
      ...{ act: (name) => setHolder(name, undefined), state: holderOf, after: undefined }
    }
  ],
  [
    'is unfrozen',
    {
      prepare: (accountName) => olga.wallets('freezeAccount', { accountName, reason: 'theft' }),
      act: (accountName) => olga.wallets('unfreezeAccount', { accountName, reason: '' }),
      state: async (name) => (await accountOf(name))?.freeze,
      after: undefined
    }
  ],
  [
    'has its wallet address unfrozen',
    {
      prepare: (name) => olga.wallets('freezeWalletAddress', { walletAddress: urlOf(name), reason: 'theft' }),
      act: (name) => olga.wallets('unfreezeWalletAddress', { walletAddress: urlOf(name), reason: '' }),
      state: async (name) => (await addressesOf(name)).map(({ freeze }) => freeze),
      after: [undefined]
    }
  ],
  [
    'gets a further wallet address',
    {
      act: (name) => createWalletAddress(name, `/${name}-too`),
      state: async (name) => (await addressesOf(name)).map(({ url }) => url.slice(-3)),
      after: [expect.anything(), 'too']
    }
  ]
]

describe('an account that holds much', () => {
  /** With one wallet address. */
  const createHolding = async ({ prepare }: Freeing, value: bigint): Promise<string> => {
    const name = `dora-${randomUUID()}`
    await createAccount(name)
    await createWalletAddress(name, `/${name}`)
    await prepare?.(name)
    await deposit(name, HALF)
    await deposit(name, value - HALF)
    return name
  }

  it.each(FREEING)('%s by two, and by one below the amount', async (_what, freeing) => {
    const { act, state, after } = freeing
    const little = await createHolding(freeing, 2n * HALF - 1n)
    await act(little)
    expect(await state(little)).toEqual(after)

    const much = await createHolding(freeing, 2n * HALF)
    const before = await state(much)
    const id = await proposalOf(act(much))
    expect(await state(much)).toEqual(before)
    expect(await refusalOf(olga.actions('approveProposal', { proposalId: id, reason: '' }))).toBe(
      'PERMISSION_DENIED proposal_id'
    )
    await tom.actions('approveProposal', { proposalId: id, reason: 'seen' })
    expect(await state(much)).toEqual(after)
  })
})

describe('in an asset in which every amount counts, an account that holds nothing', () => {
  it('gets its first holder and wallet address by one, and others by two', async () => {
    await olga.wallets('createAsset', { asset: JPY })
    await createAccount('jun', JPY)
    await createWalletAddress('jun', '/jun')
    await setHolder('jun', 'jun')
    await proposalOf(createWalletAddress('jun', '/jun-too'))
    await proposalOf(setHolder('jun', 'dan'))
    expect(await holderOf('jun')).toBe('jun')
  })
})

it.each([
  ['everybody', ''],
  ['one wallet address', ALICE]
])('a rule about payments from %s is deleted by two', async (_whom, walletAddress) => {
  const request = { aboveValue: '1', walletAddress, client: '', firstPayee: false, method: '' }
  const { rule } = await olga.wallets('createApprovalRule', request)
  const id = await proposalOf(olga.wallets('deleteApprovalRule', { ruleId: rule?.id ?? '' }))
  const rules = async () => (await olga.wallets('listApprovalRules', {})).rules
  expect(await rules()).toEqual([rule])
  await tom.actions('approveProposal', { proposalId: id, reason: 'seen' })
  expect(await rules()).toEqual([])
})
