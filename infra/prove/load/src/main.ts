// `npm run bench`: see options.ts for its options.
import { runAcross } from './across.js'
import { runBench } from './bench.js'
import { runMemory } from './memory.js'
import { type BenchOptions, readOptions } from './options.js'
import { runShort } from './short.js'
import { runWaiting } from './waiting.js'

// Runs are prepared with the tests' client, which checks every answer against the contract. Here only their status is checked.
Object.assign(globalThis, {
  contractKeeper: { violationsOf: () => Promise.resolve([]), takeViolations: () => [] }
})

// Everything that was started ends with this process, on any signal.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))

process.exitCode = (await run(readOptions(process.argv.slice(2)))) ? 0 : 1

function run(options: BenchOptions): Promise<boolean> {
  if (options.short) return runShort()
  if (options.across > 0) return runAcross(options.across)
  if (options.waiting > 0) return runWaiting(options.waiting)
  return options.memory > 0 ? runMemory(options.memory) : runBench(options)
}
