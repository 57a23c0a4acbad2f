import { fillSystem } from '@open-payments-server/growth'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import {
  type ConsoleSetting,
  signInAs,
  startBrowser,
  startConsole,
  withBrowser
} from './support/console-setting.js'

/** Number of payments that there are. */
const PAYMENT_COUNT = Number(process.env.CONSOLE_TEST_PAYMENTS ?? '1000000')
/** How often each page is asked for. */
const TIMES = Number(process.env.CONSOLE_TEST_TIMES ?? '40')
/** The 95th percentile must be within this, in milliseconds. */
const P95_MAX_MS = Number(process.env.CONSOLE_TEST_P95_MAX_MS ?? '300')
const FILL_TIMEOUT_MS = 3_600_000

withBrowser('the console with many payments', () => {
  let setting: ConsoleSetting
  let cookie: string

  beforeAll(async () => {
    setting = await startConsole()
    await fillSystem(setting.system, { paymentCount: PAYMENT_COUNT, walletCount: 20_000 })
    const browser = await startBrowser()
    const page = await browser.context.newPage()
    await page.goto(`${setting.console}/`)
    await signInAs(page, 'victor')
    const cookies = await browser.context.cookies(setting.console)
    cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
    await browser.close()
  }, FILL_TIMEOUT_MS)
  afterAll(() => setting.stop())

  const get = async (
    path: string
  ): Promise<{ readonly text: string; readonly ms: number; readonly status: number }> => {
    const begun = performance.now()
    const answer = await fetch(`${setting.console}${path}`, { headers: { cookie, accept: 'text/html' } })
    const text = await answer.text()
    return { text, ms: performance.now() - begun, status: answer.status }
  }

  it(
    'has no slow page',
    async () => {
      const found = async (path: string, link: RegExp): Promise<string> =>
        link.exec((await get(path)).text)?.[0].replaceAll('&amp;', '&') ?? ''
      const payment = await found('/payments', /\/payments\/[0-9a-f-]{36}/)
      const receiver = await found('/payments?kind=incoming', /\/payments\/[0-9a-f-]{36}/)
      const grant = await found('/grants', /\/grants\/[0-9a-f-]{36}/)
      const account = await found('/accounts', /\/accounts\/grown-[0-9]+/)
      const walletAddress = await found('/wallet-addresses', /\/wallet-address\?url=[^"]*grown-0/)
      const older = await found('/payments', /\/payments\?kind=outgoing[^"]*after=[^"]+/)
      const client = encodeURIComponent(setting.system.shop.walletAddress)
      const day = new Date(Date.now() - 10 * 86_400_000).toISOString().slice(0, 10)
      const paths = {
        overview: '/',
        payments: '/payments',
        'payments, next page': older,
        'incoming payments': '/payments?kind=incoming',
        'payments by amount': '/payments?amount=1.00+USD',
        'payments of a day': `/payments?from=${day}&until=${day}`,
        'payments of a client': `/payments?client=${client}`,
        'failed payments': '/payments?state=failed',
        'payments that wait': '/payments?state=awaiting_approval',
        'a payment': payment,
        'an incoming payment': receiver,
        accounts: '/accounts',
        'an account': account,
        'wallet addresses': '/wallet-addresses',
        'a wallet address': walletAddress,
        grants: '/grants',
        'a grant': grant,
        'a client': `/client?name=${client}`,
        approvals: '/approvals',
        clients: '/clients',
        peers: '/peers',
        endpoints: '/endpoints',
        audits: '/audits',
        'search by id': `/search?q=${payment.split('/').at(-1) ?? ''}`
      }
      const slow: string[] = []
      const lines: string[] = []
      for (const [name, path] of Object.entries(paths)) {
        expect([name, path]).not.toEqual([name, ''])
        const times: number[] = []
        for (let time = 0; time < TIMES; time += 1) {
          const { ms, status } = await get(path)
          expect([name, status]).toEqual([name, 200])
          times.push(ms)
        }
        times.sort((one, other) => one - other)
        const at = (share: number): number => Math.round(times[Math.ceil(times.length * share) - 1] ?? 0)
        lines.push(`${name}: p50 ${String(at(0.5))} ms, p95 ${String(at(0.95))} ms`)
        if (at(0.95) > P95_MAX_MS) slow.push(name)
      }
      console.log(`${String(PAYMENT_COUNT)} payments, ${String(TIMES)} times each\n${lines.join('\n')}`)
      expect(slow).toEqual([])
    },
    FILL_TIMEOUT_MS
  )
})
