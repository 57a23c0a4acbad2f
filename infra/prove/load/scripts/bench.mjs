// `npm run bench`: builds what changed, then measures. `npm run bench -- --help` shows what it can be told.
import { prepare } from '../../../stack/scripts/prepare.mjs'

await prepare({ build: 'everything' })
await import('../dist/main.js')
