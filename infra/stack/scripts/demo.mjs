// `npm run demo`: a payment from consent to received money, against the running stack. `-- --yes` consents by itself.
import { prepare } from './prepare.mjs'

await prepare({ build: 'stack' })
await import('../dist/demo/main.js')
