// Tests run without a build, except for the packages that are needed before any test can run.
import { spawnSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const folderOf = (name) => join(root, 'packages', name)

/** Builds a package of packages/ when it changed. */
export function buildIfChanged(name) {
  const folder = folderOf(name)
  if (newest(join(folder, 'src')) <= newest(join(folder, 'dist'))) return
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const project = join(folder, 'tsconfig.build.json')
  const { status } = spawnSync(process.execPath, [compiler, '-p', project], { stdio: 'inherit' })
  if (status !== 0) throw new Error(`packages/${name} does not compile`)
}

/** Builds a package of packages/ when it changed, and imports it. */
export async function importBuilt(name) {
  buildIfChanged(name)
  return import(join(folderOf(name), 'dist', 'index.js'))
}

/** When the newest file of a folder was written; 0 for a folder that is empty or missing. */
function newest(folder) {
  try {
    return Math.max(0, ...readdirSync(folder).map((name) => statSync(join(folder, name)).mtimeMs))
  } catch {
    return 0
  }
}
