import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { startBrowser, type TestBrowser, withBrowser } from '@open-payments-server/testing/browser'
import type { Page } from 'playwright-core'
import { findViolations } from './support/accessibility.js'
import { signIn } from './support/people.js'
import { type Setting, startSetting } from './support/setting.js'

withBrowser('signing in', () => {
  let setting: Setting
  let browser: TestBrowser

  beforeAll(async () => {
    setting = await startSetting()
    browser = await startBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await setting.stop()
  })

  const cookiesOf = async (page: Page): Promise<string> =>
    (await page.context().cookies(setting.pages)).map(({ name, value }) => `${name}=${value}`).join('; ')
  const get = (url: string, cookie = ''): Promise<Response> =>
    fetch(url, { headers: { cookie, accept: 'text/html' }, redirect: 'manual' })
  const start = async (path = '/'): Promise<Page> => {
    const page = await (await browser.newContext()).newPage()
    await page.goto(`${setting.pages}${path}`)
    return page
  }

  it('leads to the page that was asked for, in a cookie that scripts cannot read', async () => {
    const page = await start()
    await signIn(page, 'alice')
    expect(page.url()).toBe(`${setting.pages}/`)
    expect(await page.textContent('h1')).toBe('Payments you allow')
    expect(await page.textContent('footer')).toContain('alice <b>Example</b>')
    expect(await findViolations(page)).toEqual([])
    const session = (await page.context().cookies()).find(({ name }) => name === 'holder-session')
    expect(session).toMatchObject({ httpOnly: true, sameSite: 'Lax', path: '/' })
    expect(session?.value).not.toContain('alice')
  })

  it('ends everywhere: a copied cookie is worth nothing after signing out', async () => {
    const page = await start()
    await signIn(page, 'alice')
    const copied = await cookiesOf(page)
    expect((await get(`${setting.pages}/`, copied)).status).toBe(200)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.waitForLoadState()
    expect((await get(`${setting.pages}/`, copied)).status).toBe(303)
  })

  it('cannot be ended by another site', async () => {
    const page = await start()
    await signIn(page, 'alice')
    const cookie = await cookiesOf(page)
    const answer = await fetch(`${setting.pages}/sign-out`, { method: 'POST', headers: { cookie } })
    expect(answer.status).toBe(403)
    expect((await get(`${setting.pages}/`, cookie)).status).toBe(200)
  })

  it('always makes a new session, and ends the one before', async () => {
    const page = await start()
    await signIn(page, 'alice')
    const before = await cookiesOf(page)
    await page.goto(`${setting.pages}/sign-in`)
    const after = await cookiesOf(page)
    expect(after).not.toBe(before)
    expect((await get(`${setting.pages}/`, before)).status).toBe(303)
    expect((await get(`${setting.pages}/`, after)).status).toBe(200)
  })

  it('is finished only in the browser that began it, and once', async () => {
    const page = await start()
    const callbacks: string[] = []
    page.on('request', (request) => {
      if (request.url().startsWith(`${setting.pages}/signed-in`)) callbacks.push(request.url())
    })
    await signIn(page, 'alice')
    const [callback = ''] = callbacks
    expect((await get(callback)).status).toBe(400)
    expect((await get(callback, await cookiesOf(page))).status).toBe(400)
    const forged = await get(`${setting.pages}/signed-in?code=x&state=y`)
    expect(forged.status).toBe(400)
    expect(forged.headers.get('set-cookie')).toBeNull()
  })

  it.each([
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example',
    '/\t/evil.example',
    'javascript:alert(1)',
    '/%0d%0aset-cookie:a=b'
  ])('leads nowhere else: %j', async (to) => {
    const language = await get(
      `${setting.pages}/language?${new URLSearchParams({ set: 'de', to }).toString()}`
    )
    expect(new URL(language.headers.get('location') ?? '').origin).toBe(setting.pages)
    const page = await start(`/sign-in?${new URLSearchParams({ to }).toString()}`)
    await signIn(page, 'alice')
    expect(new URL(page.url()).origin).toBe(setting.pages)
  })

  it('at the console is another one, with the roles that the issuer says', async () => {
    const page = await (await browser.newContext()).newPage()
    await page.goto(`${setting.console}/`)
    await signIn(page, 'operator')
    expect(await page.textContent('footer')).toContain('Signed in as operator <b>Example</b>')
    expect(await findViolations(page)).toEqual([])
    const names = (await page.context().cookies()).map(({ name }) => name)
    expect(names).toContain('console-session')
    const renamed = (await cookiesOf(page)).replaceAll('console-', 'holder-')
    expect((await get(`${setting.pages}/`, renamed)).status).toBe(303)
    expect((await get(`${setting.console}/consent?interactId=a&nonce=b`)).status).toBe(404)
  })

  it('has pages that run nothing, and cannot be framed or cached', async () => {
    const answer = await get(`${setting.pages}/signed-out`)
    const policy = answer.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/unsafe|script-src/)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
    expect(await answer.text()).not.toMatch(/<script|style=| on[a-z]+=/i)
  })

  it('says so when a page does not exist', async () => {
    const page = await start('/admin')
    expect(await page.textContent('h1')).toBe('There is no such page')
    expect(await findViolations(page)).toEqual([])
  })
})
