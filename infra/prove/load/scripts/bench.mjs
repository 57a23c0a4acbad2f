// `npm run bench`: builds what changed, then measures. `npm run bench -- --help` lists its options.
import { prepare } from '../../../stack/scripts/prepare.mjs'

await prepare({ build: 'everything' })
await import('../dist/main.js')
