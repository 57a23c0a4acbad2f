// Copies what an installation depends on, and nothing else: while that stays the same, builders keep what they installed.
//
//   node infra/deploy/docker/scripts/keep-manifests.mjs <folder>
import { cpSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './pnpm.mjs'

const kept = new Set([
  '.pnpmfile.cjs',
  'pnpm-lock.yaml',
  'pnpm-workspace.yaml',
  ...['install.mjs', 'pnpm.mjs', 'programs.mjs'].map((name) => `infra/deploy/docker/scripts/${name}`)
])

const [target] = process.argv.slice(2)
if (target === undefined) {
  console.error('  usage: keep-manifests.mjs <folder>')
  process.exit(1)
}
keep('')

/** Copies what is kept of a folder; its path is relative to the root. */
function keep(folder) {
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && entry.name !== 'node_modules') keep(path)
    if (entry.isFile() && (kept.has(path) || entry.name === 'package.json')) {
      cpSync(join(root, path), join(target, path))
    }
  }
}
