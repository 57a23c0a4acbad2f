// Builds every program, once install.mjs has run.
//
//   node infra/deploy/docker/scripts/build.mjs
import { pnpm, run, withDependencies } from './pnpm.mjs'
import { packageNames } from './programs.mjs'

pnpm(['exec', 'turbo', 'run', 'generate', ...withDependencies(packageNames)])
for (const name of packageNames) {
  run(process.execPath, ['infra/stack/scripts/build.mjs', name.slice(name.indexOf('/') + 1)])
}
