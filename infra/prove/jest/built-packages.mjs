// Tests run without a build, except for the packages that are needed before any test can run.
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compile } from '../../stack/scripts/compile.mjs'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const folderOf = (name) => join(root, 'packages', name)

/** Builds a package of packages/ when it changed. */
export async function buildIfChanged(name) {
  const folder = folderOf(name)
  if (newest(join(folder, 'src')) <= newest(join(folder, 'dist'))) return
  await compile(folder)
}

/** Builds a package of packages/ when it changed, and imports it. */
export async function importBuilt(name) {
  await buildIfChanged(name)
  return import(join(folderOf(name), 'dist', 'index.js'))
}

/** When the newest file of a folder was written; 0 for a folder that is empty or missing. */
function newest(folder) {
  try {
    const names = readdirSync(folder, { recursive: true })
    return Math.max(0, ...names.map((name) => statSync(join(folder, name)).mtimeMs))
  } catch {
    return 0
  }
}
