import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import {
  allSettled,
  consentedToken,
  createReceiver,
  eventually,
  outgoingAccess,
  pay
} from '@open-payments-server/acceptance'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { callUnary } from '@open-payments-server/grpc-transport'
import { auth, events, operators, wallet } from '@open-payments-server/proto'
import type { Page } from 'playwright-core'
import {
  type ConsoleSetting,
  signInAs,
  startBrowser,
  startConsole,
  type TestBrowser,
  withBrowser
} from './support/console-setting.js'
import { createPeerWithin, type LossyPeer, startLossyPeer } from './support/lossy-peer.js'
import { leave } from './support/people.js'

const READ = { idempotent: true }
const ONCE = { idempotent: false }
/** The peer of which answers get lost. */
const PEER_NAME = 'lossy'
/** More peers than a page of the console would ask one by one. */
const FURTHER_PEERS = 25

/** What is pressed, by whom, and what that does. */
interface Pressed {
  readonly by: 'olivia' | 'anna'
  /** Path of the page that offers it. */
  readonly at: () => string
  /** The words of its link, and of its button. */
  readonly words: string
  /** What is written into the form. */
  readonly fields?: Readonly<Record<string, string | (() => Promise<string>)>>
  /** How things stand, as the services tell. */
  readonly state: () => Promise<unknown>
  readonly before: unknown
  readonly after: unknown
}

/** What somebody else does meanwhile. */
interface Changes {
  readonly freeze: (reason: string) => Promise<unknown>
  readonly unfreeze: () => Promise<unknown>
  readonly isFrozen: () => Promise<boolean>
}

withBrowser('each act of the console', () => {
  let setting: ConsoleSetting
  let lossy: LossyPeer
  let hook: Server
  let browser: TestBrowser
  const pages = {} as Record<Pressed['by'], Page>
  /** Ids of the events that were posted to the endpoint. */
  const posted: string[] = []
  const ids = { paid: '', approved: '', declined: '', grant: '', endpoint: '', crossing: '' }

  beforeAll(async () => {
    // More than every account begins with.
    setting = await startConsole({ OPERATOR_SECOND_PERSON_FROM: '2000000.00 USD, 2000000.00 EUR' })
    const { system } = setting
    lossy = await startLossyPeer(system, PEER_NAME)
    hook = createServer((request, response) => {
      posted.push(String(request.headers['webhook-id']))
      request.resume()
      response.end()
    })
    hook.listen(0, '127.0.0.1')
    await once(hook, 'listening')
    const url = `http://127.0.0.1:${String((hook.address() as AddressInfo).port)}/`
    const made = await callUnary(
      system.webhooks['resource-server'],
      'createWebhookEndpoint',
      events.CreateWebhookEndpointRequest.fromPartial({ url }),
      ONCE
    )
    ids.endpoint = made.endpoint?.id ?? ''
    await makePayments()
    browser = await startBrowser()
    for (const name of ['olivia', 'anna'] as const) {
      pages[name] = await (await browser.newContext()).newPage()
      await pages[name].goto(`${setting.console}/`)
      await signInAs(pages[name], name)
    }
  })
  afterAll(async () => {
    await browser.close()
    await allSettled(setting.system)
    expect([await setting.system.audit(), await lossy.other.audit()]).toEqual([[], []])
    await setting.stop()
    await lossy.stop()
    hook.close()
    hook.closeAllConnections()
  })

  /** One that is paid, two that await approval, and one to the other provider of which nothing is known. */
  const makePayments = async (): Promise<void> => {
    const { system } = setting
    const receiver = await createReceiver(system, system.shop)
    const { token, grant } = await consentedToken(system, system.shop, [outgoingAccess(system)])
    ids.grant = grant.continueUri.split('/').at(-1) ?? ''
    const paid = async (to: string, value: bigint): Promise<string> =>
      (await pay(system, system.shop, token, to, value)).textAt('id')
    ids.paid = await paid(receiver.url, 4_321n)
    const rule = wallet.CreateApprovalRuleRequest.fromPartial({ aboveValue: '50000' })
    await callUnary(system.operator, 'createApprovalRule', rule, ONCE)
    ids.approved = await paid(receiver.url, 60_000n)
    ids.declined = await paid(receiver.url, 70_000n)
    // The call would await a second person.
    await system.resourceDatabase.query('delete from approval_rule')
    ids.crossing = await lossy.payAndLose(token, 1_250n)
    await lossy.giveUpAnswers()
  }

  const idOf = (url: string): string => url.slice(-36)
  const at = (path: string, query: Record<string, string>): string =>
    `${path}?${new URLSearchParams(query).toString()}`
  const press = async (page: Page, words: string): Promise<void> => {
    await leave(page, () => page.getByRole('button', { name: words, exact: true }).click())
  }
  /** An amount is shown as it was read, and asked about once more. */
  const confirm = async (page: Page, words: string): Promise<void> => {
    const asked = page.getByRole('button', { name: new RegExp(`^${words}: `) })
    await leave(page, () => asked.click())
  }
  /** What proves that the packet arrived. */
  const shownByPeer = async (): Promise<string> => {
    const [packet] = await lossy.other.resourceDatabase.query<{ fulfillment: Buffer }>(
      'select fulfillment from received_packet'
    )
    return packet?.fulfillment.toString('base64url') ?? ''
  }
  const unknownCount = async (): Promise<string> => {
    await pages.olivia.goto(`${setting.console}/`)
    const row = pages.olivia.getByRole('row', { name: /packets of which it is not known/ })
    return (await row.locator('td').last().textContent()) ?? ''
  }

  const accountIsFrozen = async (): Promise<boolean> => {
    const request = wallet.ListAccountsRequest.fromPartial({ name: 'carol' })
    const { accounts } = await callUnary(setting.system.operator, 'listAccounts', request, READ)
    return accounts[0]?.freeze !== undefined
  }
  const addressOf = async (name: 'carol' | 'market'): Promise<wallet.WalletAddress | undefined> => {
    const walletAddress = setting.system.walletAddresses[name]
    const request = wallet.ListWalletAddressesRequest.fromPartial({ walletAddress })
    const found = await callUnary(setting.system.operator, 'listWalletAddresses', request, READ)
    return found.walletAddresses[0]
  }
  const clientIsFrozen = async (): Promise<boolean> => {
    const client = setting.system.shop.walletAddress
    const request = auth.ListFrozenClientsRequest.fromPartial({ client })
    const { clients } = await callUnary(setting.system.grantOperator, 'listFrozenClients', request, READ)
    return clients[0]?.frozen === true
  }
  const payment = async (outgoingPayment: string): Promise<wallet.OutgoingPayment | undefined> =>
    (await callUnary(setting.system.operator, 'getOutgoingPayment', { outgoingPayment }, READ)).payment
  const peer = async (): Promise<wallet.Peer | undefined> =>
    (await callUnary(setting.system.peers, 'getPeer', { name: PEER_NAME }, READ)).peer
  const endpoint = async (): Promise<events.WebhookEndpoint | undefined> => {
    const webhooks = setting.system.webhooks['resource-server']
    return (await callUnary(webhooks, 'getWebhookEndpoint', { id: ids.endpoint }, READ)).endpoint
  }
  const endpointIsDisabled = async (): Promise<boolean> =>
    (await endpoint())?.disabledCause === events.DisabledCause.DISABLED_CAUSE_OPERATOR
  const auditCount = async (): Promise<number> => {
    const reading = setting.system.events['resource-server']
    return (await callUnary(reading, 'listAudits', { pageSize: 100, pageToken: '' }, READ)).events.length
  }
  const balanceOfBob = (): Promise<bigint> => setting.system.balance('bob')

  it('decides nothing about a packet by what proves another one', async () => {
    const page = pages.olivia
    await page.goto(`${setting.console}/peers/${PEER_NAME}`)
    await leave(page, () => page.getByRole('link', { name: 'Decide about packet', exact: true }).click())
    await page.locator('[name=arrived]').selectOption('yes')
    await page.fill('[name=fulfillment]', Buffer.alloc(32).toString('base64url'))
    await press(page, 'Decide about packet')
    expect(await page.textContent('main')).toContain('whose SHA-256 is the condition')
    expect(await unknownCount()).toBe('1')
  })

  it.each<[string, Pressed]>([
    [
      'freezes an account',
      {
        ...{ by: 'olivia', at: () => '/accounts/carol', words: 'Freeze account' },
        ...{ state: accountIsFrozen, before: false, after: true }
      }
    ],
    [
      'unfreezes an account',
      {
        ...{ by: 'olivia', at: () => '/accounts/carol', words: 'Unfreeze account' },
        ...{ state: accountIsFrozen, before: true, after: false }
      }
    ],
    [
      'freezes a wallet address',
      {
        by: 'olivia',
        at: () => at('/wallet-address', { url: setting.system.walletAddresses.carol }),
        words: 'Freeze wallet address',
        fields: { reason: 'court order' },
        state: async () => (await addressOf('carol'))?.freeze?.reason,
        before: undefined,
        after: 'court order'
      }
    ],
    [
      'unfreezes a wallet address',
      {
        by: 'olivia',
        at: () => at('/wallet-address', { url: setting.system.walletAddresses.carol }),
        words: 'Unfreeze wallet address',
        state: async () => (await addressOf('carol'))?.freeze?.reason,
        before: 'court order',
        after: undefined
      }
    ],
    [
      'freezes a client',
      {
        by: 'olivia',
        at: () => at('/client', { name: setting.system.shop.walletAddress }),
        words: 'Freeze client',
        ...{ state: clientIsFrozen, before: false, after: true }
      }
    ],
    [
      'unfreezes a client',
      {
        by: 'olivia',
        at: () => at('/client', { name: setting.system.shop.walletAddress }),
        words: 'Unfreeze client',
        ...{ state: clientIsFrozen, before: true, after: false }
      }
    ],
    [
      'deposits',
      {
        ...{ by: 'olivia', at: () => '/accounts/bob', words: 'Deposit', fields: { amount: '12.50' } },
        ...{ state: balanceOfBob, before: 4_321n, after: 5_571n }
      }
    ],
    [
      'withdraws',
      {
        ...{ by: 'olivia', at: () => '/accounts/bob', words: 'Withdraw', fields: { amount: '2.50' } },
        ...{ state: balanceOfBob, before: 5_571n, after: 5_321n }
      }
    ],
    [
      'refunds a part of a payment',
      {
        by: 'olivia',
        at: () => `/payments/${idOf(ids.paid)}`,
        words: 'Refund payment',
        fields: { amount: '10.00' },
        ...{ state: balanceOfBob, before: 5_321n, after: 4_321n }
      }
    ],
    [
      'revokes a key',
      {
        by: 'olivia',
        at: () => at('/wallet-address', { url: setting.system.walletAddresses.market }),
        words: 'Revoke key',
        state: async () => (await addressOf('market'))?.keyIds,
        before: ['market-key'],
        after: []
      }
    ],
    [
      'records a settlement',
      {
        by: 'olivia',
        at: () => `/peers/${PEER_NAME}`,
        words: 'Record settlement',
        fields: { amount: '7.00', reference: 'bank 4711' },
        state: async () => (await peer())?.receivableValue,
        ...{ before: '0', after: '-700' }
      }
    ],
    [
      'decides about a packet',
      {
        by: 'olivia',
        at: () => `/peers/${PEER_NAME}`,
        words: 'Decide about packet',
        fields: { arrived: 'yes', fulfillment: shownByPeer },
        state: async () => [(await peer())?.payableValue, (await payment(ids.crossing))?.payment?.movedValue],
        ...{ before: ['0', '0'], after: ['1250', '1250'] }
      }
    ],
    [
      'disables an endpoint',
      {
        by: 'olivia',
        at: () => `/endpoints/resource-server/${ids.endpoint}`,
        words: 'Disable endpoint',
        ...{ state: endpointIsDisabled, before: false, after: true }
      }
    ],
    [
      'enables an endpoint',
      {
        by: 'olivia',
        at: () => `/endpoints/resource-server/${ids.endpoint}`,
        words: 'Enable endpoint',
        ...{ state: endpointIsDisabled, before: true, after: false }
      }
    ],
    [
      'delivers events again',
      {
        by: 'olivia',
        at: () => `/endpoints/resource-server/${ids.endpoint}`,
        words: 'Deliver events again',
        fields: { after: '2026-01-01' },
        state: () => Promise.resolve(new Set(posted).size < posted.length),
        ...{ before: false, after: true }
      }
    ],
    [
      'approves a payment',
      {
        ...{ by: 'anna', at: () => `/payments/${idOf(ids.approved)}`, words: 'Approve payment' },
        state: async () => (await payment(ids.approved))?.approval?.decision,
        ...{ before: '', after: 'approved' }
      }
    ],
    [
      'declines a payment',
      {
        ...{ by: 'anna', at: () => `/payments/${idOf(ids.declined)}`, words: 'Decline payment' },
        fields: { reason: 'too much' },
        state: async () => (await payment(ids.declined))?.approval?.decision,
        ...{ before: '', after: 'declined' }
      }
    ],
    [
      'ends a grant',
      {
        ...{ by: 'olivia', at: () => `/grants/${ids.grant}`, words: 'End grant' },
        state: async () =>
          (await callUnary(setting.system.grantOperator, 'getGrant', { grantId: ids.grant }, READ)).grant
            ?.state,
        ...{ before: auth.GrantState.GRANT_STATE_ISSUED, after: auth.GrantState.GRANT_STATE_REVOKED }
      }
    ],
    [
      'runs an audit',
      {
        ...{ by: 'olivia', at: () => '/audits', words: 'Run an audit' },
        ...{ state: auditCount, before: 0, after: 1 }
      }
    ]
  ])('%s', async (what, { by, at: path, words, fields = {}, state, before, after }) => {
    const page = pages[by]
    expect(await state()).toEqual(before)
    await page.goto(`${setting.console}${path()}`)
    await leave(page, () => page.getByRole('link', { name: words, exact: true }).click())
    // Asking does nothing.
    expect(await state()).toEqual(before)
    for (const [name, written] of Object.entries(fields)) {
      const value = typeof written === 'string' ? written : await written()
      const field = page.locator(`[name="${name}"]`)
      if ((await field.evaluate((element) => element.tagName)) === 'SELECT') await field.selectOption(value)
      else await field.fill(value)
    }
    await press(page, words)
    if ((await page.textContent('.note')) !== 'Done.') await confirm(page, words)
    expect(await page.textContent('.note')).toBe('Done.')
    await eventually(`that it ${what} shows`, async () => isDeepStrictEqual(await state(), after))
  })

  it.each<[string, () => string, string, Changes]>([
    [
      'an account',
      () => at('/act/unfreeze-account', { subject: 'carol' }),
      'Unfreeze account',
      {
        freeze: (reason) =>
          callUnary(setting.system.operator, 'freezeAccount', { accountName: 'carol', reason }, ONCE),
        unfreeze: () =>
          callUnary(setting.system.operator, 'unfreezeAccount', { accountName: 'carol', reason: '' }, ONCE),
        isFrozen: accountIsFrozen
      }
    ],
    [
      'a wallet address',
      () => at('/act/unfreeze-wallet-address', { subject: setting.system.walletAddresses.carol }),
      'Unfreeze wallet address',
      {
        freeze: (reason) =>
          callUnary(
            setting.system.operator,
            'freezeWalletAddress',
            { walletAddress: setting.system.walletAddresses.carol, reason },
            ONCE
          ),
        unfreeze: () =>
          callUnary(
            setting.system.operator,
            'unfreezeWalletAddress',
            { walletAddress: setting.system.walletAddresses.carol, reason: '' },
            ONCE
          ),
        isFrozen: async () => (await addressOf('carol'))?.freeze !== undefined
      }
    ],
    [
      'a client',
      () => at('/act/unfreeze-client', { subject: setting.system.shop.walletAddress }),
      'Unfreeze client',
      {
        freeze: (reason) =>
          callUnary(
            setting.system.grantOperator,
            'freezeClient',
            { client: setting.system.shop.walletAddress, reason },
            ONCE
          ),
        unfreeze: () =>
          callUnary(
            setting.system.grantOperator,
            'unfreezeClient',
            { client: setting.system.shop.walletAddress, reason: '' },
            ONCE
          ),
        isFrozen: clientIsFrozen
      }
    ]
  ])('ends only the freeze of %s that it showed', async (_what, path, words, changes) => {
    const page = pages.olivia
    const refused = async (): Promise<void> => {
      await press(page, words)
      expect(await page.textContent('h1')).toBe('This was refused')
      expect(await changes.isFrozen()).toBe(true)
    }
    await page.goto(`${setting.console}${path()}`)
    await changes.freeze('stolen phone')
    await refused()
    await page.goto(`${setting.console}${path()}`)
    await changes.unfreeze()
    setting.clock.advanceSeconds(1)
    await changes.freeze('court order')
    await refused()
    await leave(page, () => page.getByRole('link', { name: 'Back', exact: true }).click())
    expect(await page.textContent('main')).toContain('court order')
    await press(page, words)
    expect(await page.textContent('.note')).toBe('Done.')
    expect(await changes.isFrozen()).toBe(false)
  })

  it('records another settlement with a reference only once somebody says that it is another one', async () => {
    const page = pages.olivia
    const order = { name: PEER_NAME, value: '100', reference: 'SEPA 4712', key: 'by-command-line' }
    const direction = wallet.SettlementDirection.SETTLEMENT_DIRECTION_RECEIVED
    await callUnary(setting.system.peers, 'settlePeer', { ...order, direction }, ONCE)
    const before = Number((await peer())?.receivableValue)
    await page.goto(`${setting.console}${at('/act/settle-peer', { subject: PEER_NAME })}`)
    expect(await page.locator('[name=another]').count()).toBe(0)
    await page.fill('input[name=amount]', '1.00')
    await page.fill('input[name=reference]', order.reference)
    await press(page, 'Record settlement')
    await confirm(page, 'Record settlement')
    expect(await page.textContent('.note')).toMatch(
      /^Nothing was changed: a settlement with this reference was recorded at .*, of 1.00 USD/
    )
    await press(page, 'Record settlement')
    expect(await page.locator('[name=another]').count()).toBe(1)
    expect(Number((await peer())?.receivableValue)).toBe(before)
    await page.locator('[name=another]').selectOption('yes')
    await press(page, 'Record settlement')
    expect(await page.textContent('.note')).toBe('Done.')
    expect(Number((await peer())?.receivableValue)).toBe(before - 100)
  })

  it.each<[string, string, operators.ProposalState, bigint]>([
    ['rejects', 'Reject', operators.ProposalState.PROPOSAL_STATE_REJECTED, 0n],
    ['approves', 'Approve, and do it', operators.ProposalState.PROPOSAL_STATE_APPROVED, 200_000_000n]
  ])('%s what awaits a second person', async (_what, words, state, credited) => {
    const before = await balanceOfBob()
    const { olivia, anna } = pages
    await olivia.goto(`${setting.console}/act/deposit?subject=bob`)
    await olivia.fill('input[name=amount]', '2000000.00')
    await press(olivia, 'Deposit')
    await confirm(olivia, 'Deposit')
    await leave(olivia, () => olivia.getByRole('link', { name: 'Proposal', exact: true }).click())
    expect(await olivia.locator('a[href^="/act/"]').count()).toBe(0)
    await anna.goto(olivia.url())
    await leave(anna, () => anna.getByRole('link', { name: words, exact: true }).click())
    expect(await balanceOfBob()).toBe(before)
    await press(anna, words)
    const proposalId = idOf(olivia.url())
    const acts = setting.system.actions['resource-server']
    const { proposal } = await callUnary(acts, 'getProposal', { proposalId }, READ)
    expect([proposal?.state, (await balanceOfBob()) - before]).toEqual([state, credited])
  })

  it('shows how many packets are unknown, of however many peers', async () => {
    const { system } = setting
    for (let number = 0; number < FURTHER_PEERS; number += 1) {
      const ilpAddress = `test.further-${String(number)}`
      const endpoint = 'http://127.0.0.1:9/'
      await createPeerWithin(system, { name: `a-${String(number)}`, ilpAddress, endpoint })
    }
    expect(await unknownCount()).toBe('0')
    const { token } = await consentedToken(system, system.shop, [outgoingAccess(system)])
    await lossy.payAndLose(token, 500n)
    expect(await unknownCount()).toBe('0')
    await lossy.giveUpAnswers()
    expect(await unknownCount()).toBe('1')
    const request = { name: PEER_NAME, pageSize: 1, pageToken: '' }
    const { packets } = await callUnary(system.peers, 'listUnknownPackets', request, READ)
    const condition = packets[0]?.condition ?? ''
    const decision = { name: PEER_NAME, condition, arrived: true, arrivedValue: '' }
    await callUnary(system.peers, 'decidePacket', decision, ONCE)
    expect(await unknownCount()).toBe('0')
  })
})
