// `npm test`: prepares, then runs jest with whatever parameters it was given. Ends with jest's exit code; the last line
// says how many tests passed, failed and were skipped.
//
// Without paths, these are all but the proofs, which `--proofs` runs. `--long <name>` runs one of the long runs: proofs with many more
// repetitions or much more data, and trials that nothing else runs (`*.long.test.ts`).
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { prepare } from './prepare.mjs'
import { PROOFS } from './proofs.mjs'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Long runs by name: which tests, and what makes them long. Settings that are set already win. */
const longRuns = {
  console: {
    paths: ['infra/prove/pages/test/console-growth.long.test.ts'],
    environment: {}
  },
  model: {
    paths: [
      'services/auth-server/test/limit-model.test.ts',
      'services/resource-server/test/payment-model.test.ts'
    ],
    environment: { MODEL_TEST_OPERATIONS: '200000' }
  },
  fuzz: {
    paths: ['infra/prove/fuzz/test'],
    environment: { FUZZ_TEST_CASES: '1000000' }
  },
  'peer-fuzz': {
    paths: ['infra/prove/fuzz/test/peer-listener.test.ts'],
    environment: { PEER_FUZZ_TEST_CASES: '1000000' }
  },
  growth: {
    paths: ['infra/prove/growth/test/plans.test.ts'],
    environment: { GROWTH_TEST_PAYMENTS: '1000000' }
  },
  events: {
    paths: ['services/resource-server/test/event-cursor.test.ts'],
    environment: { EVENT_TEST_EVENTS: '1000000' }
  },
  restore: {
    paths: ['infra/prove/growth/test/restore.long.test.ts'],
    environment: {}
  },
  recovery: {
    paths: ['infra/prove/growth/test/recovery.long.test.ts'],
    environment: {}
  },
  rollouts: {
    paths: ['infra/prove/rollouts/test/rollout.test.ts'],
    environment: { ROLLOUT_TEST_REQUESTS: '20000', ROLLOUT_TEST_PRE_STOP_MS: '1000' }
  },
  away: {
    paths: ['infra/prove/faults/test/auth-server-away.test.ts'],
    environment: { AWAY_TEST_SECONDS: '30' }
  },
  failover: {
    paths: [
      'infra/prove/faults/test/patroni.long.test.ts',
      'infra/prove/faults/test/redis-failover.test.ts',
      'infra/prove/rollouts/test/rollout-failover.long.test.ts'
    ],
    environment: {
      FAILOVER_TEST_ROUNDS: '20',
      ROLLOUT_TEST_REQUESTS: '20000',
      ROLLOUT_TEST_PRE_STOP_MS: '1000'
    }
  },
  'rollout-failover': {
    paths: ['infra/prove/rollouts/test/rollout-failover.long.test.ts'],
    environment: { ROLLOUT_TEST_REQUESTS: '20000', ROLLOUT_TEST_PRE_STOP_MS: '1000' }
  },
  'first-start': {
    paths: ['infra/stack/test/first-start.long.test.ts'],
    environment: {}
  },
  images: {
    paths: ['infra/prove/images/test/images.long.test.ts'],
    environment: {}
  },
  screenshots: {
    paths: ['infra/prove/pages/test/screenshots.long.test.ts'],
    environment: {}
  },
  crash: {
    paths: ['infra/prove/faults/test/crash.test.ts', 'infra/prove/faults/test/crossing-crash.test.ts'],
    environment: { CRASH_TEST_ROUNDS: '20' }
  }
}

/** @returns the arguments of jest and the environment of its tests, for the parameters of this script */
function readParameters(given) {
  const [option, name, ...rest] = given
  if (option === '--proofs') return { parameters: [...PROOFS, ...given.slice(1)], environment: {} }
  if (option !== '--long') {
    const namesTests = given.some((parameter) => !parameter.startsWith('-'))
    return { parameters: given, environment: namesTests ? {} : { WITHOUT_PROOFS: '1' } }
  }
  const run = longRuns[name]
  if (run === undefined) throw new Error(`--long takes one of: ${Object.keys(longRuns).join(', ')}`)
  return { parameters: [...run.paths, ...rest], environment: { ...run.environment, LONG_RUN: name } }
}

const { parameters, environment } = readParameters(process.argv.slice(2))

await prepare({ build: 'everything' })

const nodeOptions = [
  process.env.NODE_OPTIONS,
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning'
]
const jest = spawn(process.execPath, [join(root, 'node_modules', 'jest', 'bin', 'jest.js'), ...parameters], {
  cwd: root,
  env: { ...environment, ...process.env, NODE_OPTIONS: nodeOptions.filter(Boolean).join(' ') },
  stdio: 'inherit'
})
// On Ctrl-C jest stops by itself, and stops the database and Redis; this process only has to outlive it.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => jest.kill('SIGTERM'))
jest.once('exit', (code) => {
  process.exitCode = code ?? 1
})
