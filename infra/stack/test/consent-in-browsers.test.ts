import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import {
  outgoingAccess,
  type PendingGrant,
  requestInteractiveGrant,
  startSystem,
  type System
} from '@open-payments-server/acceptance'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import { createConsentPage, createIdentityProvider } from '../src/index.js'
import { startBrowser, type TestBrowser, withBrowser } from './chromium.js'

/** INTERACTION_LIFETIME_SECONDS unless set. */
const LIFETIME_SECONDS = 600

/** The real consent page and the real auth server, with real browsers. */
withBrowser('consent in browsers', () => {
  let system: System
  let consentPage: Server
  let callback: Server
  let mine: TestBrowser
  let theirs: TestBrowser

  beforeAll(async () => {
    consentPage = await listen()
    callback = await listen((_request, response) => response.end('back at the client'))
    system = await startSystem({
      auth: { CONSENT_PAGE_URL: urlOf(consentPage), INTERACTION_FINISH_CODE_REQUIRED: 'true' }
    })
    const app = createConsentPage({
      identityProvider: createIdentityProvider({
        api: system.identityProviderUrl(),
        secret: system.identityProviderSecret
      }),
      authServer: system.authServerUrl,
      publicUrl: urlOf(consentPage),
      now: () => system.clock.now(),
      log: (error) => {
        throw error
      }
    })
    consentPage.on('request', app as RequestListener)
    mine = await startBrowser()
    theirs = await startBrowser()
  })
  afterAll(async () => {
    await mine.close()
    await theirs.close()
    await system.stop()
    for (const server of [consentPage, callback]) {
      server.close()
      server.closeAllConnections()
    }
  })

  const ask = (): Promise<PendingGrant> =>
    requestInteractiveGrant(system, system.shop, [outgoingAccess(system)], {
      method: 'redirect',
      uri: `${urlOf(callback)}?order=17`,
      nonce: 'client-nonce'
    })
  const open = async ({ context }: TestBrowser, url: string): Promise<Page> => {
    const page = await context.newPage()
    await page.goto(url)
    return page
  }
  const choose = async (page: Page, button: 'Accept' | 'Decline'): Promise<URL> => {
    await page.getByRole('button', { name: button }).click()
    await page.waitForLoadState()
    return new URL(page.url())
  }
  const titleOf = (page: Page): Promise<string | null> => page.textContent('h1')
  const continueGrant = (grant: PendingGrant, reference: string | null) =>
    system.shop.request('POST', grant.continueUri, {
      accessToken: grant.continuationToken,
      body: { interact_ref: reference }
    })

  it('works in several tabs at once, in any order, each for its own grant', async () => {
    const [first, second, third] = [await ask(), await ask(), await ask()]
    const tabs = {
      first: await open(mine, first.redirect),
      second: await open(mine, second.redirect),
      third: await open(mine, third.redirect)
    }
    const backOfSecond = await choose(tabs.second, 'Accept')
    const backOfThird = await choose(tabs.third, 'Decline')
    const backOfFirst = await choose(tabs.first, 'Accept')
    expect(backOfThird.searchParams.get('result')).toBe('grant_rejected')
    const [referenceOfFirst, referenceOfSecond] = [backOfFirst, backOfSecond].map(({ searchParams }) =>
      searchParams.get('interact_ref')
    )
    await system.passSeconds(first.waitSeconds)
    expect((await continueGrant(first, referenceOfSecond ?? null)).status).toBe(404)
    expect((await continueGrant(first, referenceOfFirst ?? null)).status).toBe(200)
    expect((await continueGrant(second, referenceOfSecond ?? null)).status).toBe(200)
  })

  it('is refused in a second browser, while the first continues', async () => {
    const grant = await ask()
    const page = await open(mine, grant.redirect)
    const refused = await open(theirs, grant.redirect)
    expect(await titleOf(refused)).toBe('This request cannot be opened here')
    // Its content security policy allows its own style.
    expect(await refused.evaluate("getComputedStyle(document.querySelector('main')).maxWidth")).toBe('544px')
    await page.reload()
    const back = await choose(page, 'Accept')
    expect(back.searchParams.get('interact_ref')).toMatch(/^[\w-]{43}$/)
  })

  it('is useless to an attacker who starts it and has somebody else consent', async () => {
    const grant = await ask()
    const attackersPage = await open(theirs, grant.redirect)
    const victimsPage = await open(mine, attackersPage.url())
    await choose(victimsPage, 'Accept')
    expect(await titleOf(victimsPage)).toBe('This browser cannot finish the request')
    const { origin, pathname } = new URL(grant.redirect)
    await attackersPage.goto(`${origin}${pathname}/finish`)
    expect(await titleOf(attackersPage)).toBe('This browser cannot finish the request')
    await system.passSeconds(grant.waitSeconds)
    expect((await continueGrant(grant, 'x'.repeat(43))).status).toBe(404)
  })

  it('names the account holder, and tells only the deciding browser the decision', async () => {
    for (const [button, title] of [
      ['Accept', 'You accepted this request already'],
      ['Decline', 'You declined this request already']
    ] as const) {
      const grant = await ask()
      const page = await open(mine, grant.redirect)
      const consentUrl = page.url()
      expect(await page.textContent('.wallet')).toContain(new URL(system.walletAddresses.alice).pathname)
      await picture(page, 'open')
      await choose(page, button)
      const again = await open(mine, grant.redirect)
      // A refusal redirects to the client, which learns of it.
      if (button === 'Decline') expect(again.url()).toContain('result=grant_rejected')
      else expect(await titleOf(again)).toBe(title)
      await picture(again, `${button}-again`)
      const decided = await open(mine, consentUrl)
      expect(await titleOf(decided)).toBe(title)
      await picture(decided, `${button}-consent-page`)
      for (const url of [grant.redirect, consentUrl]) {
        const elsewhere = await open(theirs, url)
        expect(await titleOf(elsewhere)).not.toContain('already')
        expect(await elsewhere.textContent('body')).not.toMatch(/accepted this|declined this/)
      }
    }
  })

  it('cannot be embedded in a frame', async () => {
    const grant = await ask()
    const page = await mine.context.newPage()
    const framed = page.waitForResponse((response) => response.url().startsWith(urlOf(consentPage)))
    await page.goto(urlOf(callback))
    await page.evaluate(`document.body.innerHTML = '<iframe src="${grant.redirect}"></iframe>'`)
    await framed
    const [, frame] = page.frames()
    await frame?.waitForLoadState()
    expect(await frame?.getByRole('button').count()).toBe(0)
  })

  it('ends at its expiry, even on an open page', async () => {
    const grant = await ask()
    const openPage = await open(mine, grant.redirect)
    const consentUrl = openPage.url()
    await system.passSeconds(LIFETIME_SECONDS)
    const expired = await open(mine, consentUrl)
    expect(await titleOf(expired)).toBe('This request has expired')
    expect(await expired.getByRole('button').count()).toBe(0)
    await picture(expired, 'expired')
    await choose(openPage, 'Accept')
    expect(await titleOf(openPage)).toBe('This request is over')
  })
})

/** Saves a screenshot of a page, if requested. */
async function picture(page: Page, name: string): Promise<void> {
  const directory = process.env.CONSENT_PICTURES
  if (directory !== undefined) await page.screenshot({ path: join(directory, `${name}.png`), fullPage: true })
}

async function listen(listener?: RequestListener): Promise<Server> {
  const server = createServer(listener).listen(0, 'localhost')
  await once(server, 'listening')
  return server
}

function urlOf(server: Server): string {
  return `http://localhost:${String((server.address() as AddressInfo).port)}/`
}
