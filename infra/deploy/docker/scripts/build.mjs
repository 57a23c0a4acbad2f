// Installs the build dependencies of one service from the lock file, and builds it.
//
//   node infra/deploy/docker/scripts/build.mjs <auth-server|resource-server>
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const { name: rootName, packageManager } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
const name = process.argv[2]
const service = `@open-payments-server/${name}`

// With all its dependencies, the build tools of the root, and what the next step needs for the bill of materials.
const installed = [`${service}...`, rootName, '@open-payments-server/docker'].flatMap((each) => [
  '--filter',
  each
])
pnpm([...installed, 'install', '--frozen-lockfile', '--prod=false'])
pnpm(['exec', 'turbo', 'run', 'generate', '--filter', `${service}...`])
run(process.execPath, ['infra/stack/scripts/build.mjs', name])

function pnpm(parameters) {
  run('npx', ['--yes', packageManager, ...parameters])
}

function run(program, parameters) {
  const { status } = spawnSync(program, parameters, { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
