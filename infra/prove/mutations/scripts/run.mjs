// `npm run test:mutations`: breaks every guard, one at a time, in a clone of what is committed, and ends with code 1 when
// a test does not notice. `npm run test:mutations -- <text>` breaks only those whose words or files contain the text.
import { fileURLToPath } from 'node:url'
import { startServers, stopServers } from '../../jest/servers.mjs'
import { prepare } from '../../../stack/scripts/prepare.mjs'

const root = fileURLToPath(new URL('../../../../', import.meta.url))

await prepare({ build: 'everything' })
const { runMutations } = await import('../dist/run-mutations.js')
// On Ctrl-C the current test ends, and everything is stopped.
const interruption = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => interruption.abort())
// One PostgreSQL and one Redis for all runs: each makes databases of its own.
await startServers()
try {
  process.exitCode = (await runMutations(root, process.argv[2] ?? '', interruption.signal)) ? 0 : 1
} finally {
  await stopServers()
}
