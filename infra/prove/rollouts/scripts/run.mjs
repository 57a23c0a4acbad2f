// `npm run test:rollouts` replaces every replica under 20,000 requests. With `-- --from <commit>` that commit is cloned
// into a temporary folder, installed, built, started, migrated and replaced, and then it takes over again. With `--failover` before or
// after, the database fails over meanwhile, and the older commit does not take over again.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const { values } = parseArgs({
  options: { from: { type: 'string' }, failover: { type: 'boolean', default: false } }
})
const { from: commit, failover } = values
const folder = commit === undefined ? undefined : mkdtempSync(join(tmpdir(), 'open-payments-rollout-'))
try {
  if (folder !== undefined) buildCommit(folder)
  const environment = {
    ...(folder === undefined ? {} : { ROLLOUT_TEST_FROM: folder }),
    ...(folder === undefined || failover ? {} : { ROLLOUT_TEST_REQUESTS: '5000' })
  }
  const script = join(root, 'infra', 'stack', 'scripts', 'test.mjs')
  const { status } = spawnSync(
    process.execPath,
    [script, '--long', failover ? 'rollout-failover' : 'rollouts'],
    {
      env: { ...environment, ...process.env },
      stdio: 'inherit'
    }
  )
  process.exitCode = status ?? 1
} finally {
  if (folder !== undefined) rmSync(folder, { recursive: true })
}

/** Installs and builds an older commit. */
function buildCommit(checkout) {
  const run = (program, ...parameters) =>
    execFileSync(program, parameters, { cwd: checkout, stdio: ['ignore', 'inherit', 'inherit'] })
  run('git', 'clone', '--quiet', '--shared', '--no-checkout', root, '.')
  run('git', 'checkout', '--quiet', commit)
  const pnpm = ['--yes', 'pnpm@10.34.9']
  run('npx', ...pnpm, 'install', '--frozen-lockfile', '--prod=false', '--prefer-offline')
  run('npm', 'run', '--silent', 'build')
}
