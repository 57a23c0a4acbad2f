import { it } from '@jest/globals'
import { startBrowser, withBrowser } from '@open-payments-server/testing/browser'
import { SECOND_PERSON_FROM, visitConsolePages } from './support/console-pages.js'
import { startConsole } from './support/console-setting.js'
import { visitHolderPages } from './support/holder-pages.js'
import { type Shown, takePictures } from './support/screenshots.js'
import { startSetting } from './support/setting.js'

const TIMEOUT_MS = 900_000

/** What is written for readers of the documents. */
const CONSOLE_SHOWN: Shown = [
  [/http:\/\/localhost:\d+\/allowed/, 'https://pages.wallet.example/allowed'],
  [/https?:\/\/localhost:\d+\/shop/, 'https://shop.example'],
  [/https?:\/\/localhost:\d+/, 'https://wallet.example'],
  [/localhost:\d+\/(alice|bob|carol|market)/, 'wallet.example/$1'],
  [/localhost:\d+/, 'shop.example'],
  [/http:\/\/127\.0\.0\.1:9\//, 'https://hooks.shop.example/'],
  [/http:\/\/127\.0\.0\.1:\d+\//, 'https://hooks.wallet.example/'],
  [/([a-z]+) <b>Example<\/b>/, '$1 Example']
]
/** Account holders see names that people chose. */
const SHOWN: Shown = [
  [/127\.0\.0\.1:\d+\/shop/, 'shop.example'],
  [/localhost:\d+\/shop/, 'wallet.example/shop'],
  ...CONSOLE_SHOWN,
  [/“shop”/, '“The Shop”'],
  [/„shop“/, '„The Shop“'],
  [/^shop$/, 'The Shop'],
  [/^bob$/, 'Bob'],
  [/ to bob$/, ' to Bob']
]
/** What shows that consent needs no scrolling. */
const AS_OPENED = new Set(['consent', 'consent-german', 'consent-payee'])
/** Acts are alike: one of each kind is shown. */
const ACTS = new Set([
  ...['act-freeze-account', 'act-freeze-account-done', 'act-not-allowed', 'act-run-audit-done'],
  ...[
    'act-deposit',
    'act-deposit-amount',
    'act-deposit-done',
    'act-deposit-proposed',
    'act-withdraw-refused'
  ],
  ...['act-refund-payment', 'act-settle-peer', 'act-decide-packet', 'act-replay-endpoint', 'act-end-grant'],
  ...['act-approve-payment', 'act-approve-proposal', 'act-approve-proposal-done']
])

/** `npm run --prefix infra/prove/pages screenshots` */
withBrowser('pictures', () => {
  it(
    'are taken of the pages of account holders',
    async () => {
      const setting = await startSetting({ PROVIDER_NAME: 'Example Wallet' })
      const browser = await startBrowser()
      await visitHolderPages(setting, browser, (name, page) =>
        takePictures(page, name, { shown: SHOWN, isWhole: !AS_OPENED.has(name) })
      )
      await browser.close()
      await setting.stop()
    },
    TIMEOUT_MS
  )

  it(
    'are taken of the console',
    async () => {
      const setting = await startConsole({ OPERATOR_SECOND_PERSON_FROM: SECOND_PERSON_FROM })
      const browser = await startBrowser()
      await visitConsolePages(setting, browser, async (name, page) => {
        if (!name.startsWith('act-') || ACTS.has(name))
          await takePictures(page, `console-${name}`, { shown: CONSOLE_SHOWN })
      })
      await browser.close()
      await setting.stop()
    },
    TIMEOUT_MS
  )
})
