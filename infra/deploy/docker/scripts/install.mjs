// Installs from the lock file what every program is built of.
//
//   node infra/deploy/docker/scripts/install.mjs
import { pnpm, rootName, withDependencies } from './pnpm.mjs'
import { packageNames } from './programs.mjs'

// With the build tools of the root, and what the last step needs for the bill of materials; not the embedded PostgreSQL and the
// tests of the rest.
const tools = [rootName, '@open-payments-server/docker'].flatMap((name) => ['--filter', name])
pnpm([...withDependencies(packageNames), ...tools, 'install', '--frozen-lockfile', '--prod=false'])
