export { startBrowser, type TestBrowser, withBrowser } from './chromium.js'
export { type Arrived, formOf, PlainBrowser } from './plain-browser.js'
