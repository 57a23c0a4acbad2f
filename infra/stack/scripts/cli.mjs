// `npm run cli -- …`: the operator's command line. `npm run cli -- --help` shows what it can do.
import { prepare } from './prepare.mjs'

await prepare({ build: 'stack' })
await import('../../../packages/operator-cli/dist/main.js')
