import {
  allSettled,
  consentedToken,
  createReceiver,
  outgoingAccess,
  pay
} from '@open-payments-server/acceptance'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { callUnary, isRpcError } from '@open-payments-server/grpc-transport'
import { wallet } from '@open-payments-server/proto'
import type { Page } from 'playwright-core'
import { findViolations } from './support/accessibility.js'
import {
  type ConsoleSetting,
  signInAs,
  startBrowser,
  startConsole,
  type TestBrowser,
  withBrowser
} from './support/console-setting.js'
import { createPeerWithin } from './support/lossy-peer.js'
import { leave } from './support/people.js'

const READ = { idempotent: true }

withBrowser('two people with a browser each', () => {
  let setting: ConsoleSetting
  const browsers: TestBrowser[] = []
  let olivia: Page
  let anna: Page
  let arno: Page

  beforeAll(async () => {
    // More than every account begins with.
    setting = await startConsole({ OPERATOR_SECOND_PERSON_FROM: '2000000.00 USD, 2000000.00 EUR' })
    const [first, second] = [await startBrowser(), await startBrowser()]
    browsers.push(first, second)
    const signedIn = async (browser: TestBrowser, name: 'olivia' | 'anna' | 'arno'): Promise<Page> => {
      const page = await (await browser.newContext()).newPage()
      await page.goto(`${setting.console}/`)
      await signInAs(page, name)
      return page
    }
    olivia = await signedIn(first, 'olivia')
    anna = await signedIn(first, 'anna')
    arno = await signedIn(second, 'arno')
  })
  afterAll(async () => {
    for (const browser of browsers) await browser.close()
    expect(await setting.system.audit()).toEqual([])
    await setting.stop()
  })

  const open = async (page: Page, act: string, subject: string): Promise<void> => {
    await page.goto(`${setting.console}/act/${act}?${new URLSearchParams({ subject }).toString()}`)
  }
  /** Both press their button at the same time. */
  const pressBoth = async (
    both: readonly (readonly [Page, button: string])[]
  ): Promise<(string | null)[]> => {
    await Promise.all(
      both.map(async ([page, name]) => {
        await leave(page, () => page.getByRole('button', { name, exact: true }).click())
      })
    )
    return Promise.all(both.map(([page]) => page.textContent('main')))
  }
  const balance = (): Promise<bigint> => setting.system.balance('bob')

  it('decide differently about a payment: it has one outcome, and the other is told which', async () => {
    const { system } = setting
    const rule = wallet.CreateApprovalRuleRequest.fromPartial({ aboveValue: '50000' })
    await callUnary(system.operator, 'createApprovalRule', rule, { idempotent: false })
    const receiver = await createReceiver(system, system.shop)
    const { token } = await consentedToken(system, system.shop, [outgoingAccess(system)])
    const url = (await pay(system, system.shop, token, receiver.url, 60_000n)).textAt('id')
    const before = await balance()
    await open(anna, 'approve-payment', url)
    await open(arno, 'decline-payment', url)
    const told = await pressBoth([
      [anna, 'Approve payment'],
      [arno, 'Decline payment']
    ])
    await allSettled(system)
    const request = { outgoingPayment: url }
    const { payment } = await callUnary(system.operator, 'getOutgoingPayment', request, READ)
    const isApproved = payment?.approval?.decision === 'approved'
    const [winner, loser] = isApproved ? told : told.toReversed()
    expect(winner).toContain('Done.')
    expect(loser).toMatch(
      isApproved ? /the payment was approved at .* by anna at/ : /the payment was declined at .* by arno at/
    )
    expect(await balance()).toBe(before + (isApproved ? 60_000n : 0n))
  })

  it('approve the same proposal: it is done once, and the other is told by whom', async () => {
    const before = await balance()
    await open(olivia, 'deposit', 'bob')
    await olivia.fill('input[name=amount]', '2000000.00')
    for (const name of ['Deposit', 'Deposit: 2,000,000.00\u00a0USD']) {
      await leave(olivia, () => olivia.getByRole('button', { name, exact: true }).click())
    }
    expect(await balance()).toBe(before)

    for (const page of [anna, arno]) {
      await page.goto(`${setting.console}/`)
      const row = page.getByRole('row', { name: /proposals that await a second person/ })
      expect(await row.textContent()).toMatch(/person\s*1$/)
      await leave(page, () => row.getByRole('link').click())
      await leave(page, () => page.getByRole('link', { name: 'Deposit', exact: true }).click())
      await leave(page, () => page.getByRole('link', { name: 'Approve, and do it' }).click())
      expect(await page.locator('dd').allTextContents()).toContain('2,000,000.00\u00a0USD')
    }
    const told = await pressBoth([
      [anna, 'Approve, and do it'],
      [arno, 'Approve, and do it']
    ])
    expect(told.filter((text) => text?.includes('Done.'))).toHaveLength(1)
    const isByAnna = told[0]?.includes('Done.') === true
    expect(told[isByAnna ? 1 : 0]).toMatch(
      isByAnna ? /the proposal was approved at .* by anna at/ : /the proposal was approved at .* by arno at/
    )
    expect(await balance()).toBe(before + 200_000_000n)
    await anna.goto(`${setting.console}/`)
    expect(
      await anna.getByRole('row', { name: /proposals that await a second person/ }).textContent()
    ).toMatch(/person\s*0$/)
  })

  it('see which limit of a peer is taken away, and how high it was', async () => {
    const { system } = setting
    const name = 'other-bank'
    await createPeerWithin(system, { name, ilpAddress: 'test.other', endpoint: 'http://127.0.0.1:9/' })
    const limited = { name, receivableLimitValue: '100000000', routes: undefined }
    await callUnary(system.peers, 'updatePeer', limited, { idempotent: false })
    const unlimited = { name, receivableLimitValue: '', payableLimitValue: '1', routes: undefined }
    const refusal: unknown = await callUnary(system.peers, 'updatePeer', unlimited, {
      idempotent: false
    }).catch((error: unknown) => error)
    const proposalId = isRpcError(refusal) ? (refusal.reference ?? '') : ''
    await open(anna, 'approve-proposal', `resource-server ${proposalId}`)
    const facts = (await anna.textContent('main'))?.replaceAll('\u00a0', ' ')
    expect(facts).toMatch(/They may owe at most\s*no limit\s*Before: 1,000,000\.00 USD/)
    expect(facts).toMatch(/We may owe at most\s*0\.01 USD/)
  })

  it('see each member of what is asked for as one, whatever somebody wrote into another', async () => {
    const { system } = setting
    const [name, reference] = ['honest-bank', 'bank 4711 · value: 7']
    await createPeerWithin(system, { name, ilpAddress: 'test.honest', endpoint: 'http://127.0.0.1:9/' })
    const settlement = {
      name,
      value: '200000000',
      direction: wallet.SettlementDirection.SETTLEMENT_DIRECTION_SENT,
      key: '0190a8b1-0000-7000-8000-000000000002',
      reference
    }
    const refusal: unknown = await callUnary(
      system.peers,
      'settlePeer',
      wallet.SettlePeerRequest.fromPartial(settlement),
      { idempotent: false }
    ).catch((error: unknown) => error)
    const proposalId = isRpcError(refusal) ? (refusal.reference ?? '') : ''
    await anna.goto(`${setting.console}/proposals/resource-server/${proposalId}`)
    const asked = anna
      .locator('div', { has: anna.getByText('What is asked', { exact: true }) })
      .locator('.members dd')
    expect(await asked.allTextContents()).toEqual(expect.arrayContaining([name, '200000000', reference]))
    expect(await findViolations(anna)).toEqual([])
    await anna.goto(`${setting.console}/actions?service=resource-server`)
    expect(await anna.locator('td .members dt').count()).toBeGreaterThan(0)
    expect(await findViolations(anna)).toEqual([])
  })
})
