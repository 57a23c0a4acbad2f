// `npm run test:images`: installs the programs that it needs, then builds every image and runs them.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
/** Debian's packages, each with the program that it brings. */
const programs = {
  buildah: 'buildah',
  podman: 'podman',
  crun: 'crun',
  mmdebstrap: 'mmdebstrap',
  'redis-server': 'redis-server'
}

if (process.platform !== 'linux' || process.getuid() !== 0) {
  fail('This needs Linux, and root: it mounts, and builds and runs containers without an engine.')
}
const missing = Object.keys(programs).filter((name) => !isThere(programs[name]))
if (missing.length > 0) install(missing)
const { status } = spawnSync(
  process.execPath,
  [join(root, 'infra/stack/scripts/test.mjs'), '--long', 'images', ...process.argv.slice(2)],
  { stdio: 'inherit' }
)
process.exitCode = status ?? 1

function isThere(program) {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
}

function install(packages) {
  const command = `apt-get install --no-install-recommends ${packages.join(' ')}`
  if (!isThere('apt-get')) fail(`Not installed: ${packages.join(', ')}. On Debian: ${command}`)
  console.log(`  Installing ${packages.join(', ')} …`)
  const updating = apt('update')
  const installing = apt('install', '--yes', '--no-install-recommends', ...packages)
  if (installing.status === 0) return
  fail(`${updating.stderr}${installing.stdout}${installing.stderr}\n  Could not be installed: ${command}`)
}

function apt(...words) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  return spawnSync('apt-get', ['--quiet', ...words], { env, encoding: 'utf8' })
}

function fail(message) {
  console.error(`  ${message}`)
  process.exit(1)
}
