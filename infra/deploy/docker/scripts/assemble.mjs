// Assembles the content of one image: a program and its production dependencies, nothing else.
//
//   node infra/deploy/docker/scripts/assemble.mjs <program> <folder>
//
// The workspace must be installed and the program built. The Dockerfile runs it, and a test does the same in a plain folder.
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describeTree } from './describe-tree.mjs'
import { packageOf } from './programs.mjs'

const root = fileURLToPath(new URL('../../../../', import.meta.url))

/** What a package of this project needs at run time; the rest is left out. */
const ownFiles = new Set(['dist', 'node_modules', 'openapi', 'package.json', 'prisma'])
/** Not used at run time: sources, files for debuggers, compilers and other runtimes, and documentation. */
const notRun = /\.(map|[cm]?ts|cc?|h|bare|md|markdown|tsbuildinfo)$/
/** Folder in which native packages contain builds for each system. */
const prebuilds = 'prebuilds'
const thisSystem = `${process.platform}-${process.arch}`
/** Files that licenses require stay with their package: texts, not the maps of a source of such a name. */
const legal = /^(licen[cs]e|notice|copying|copyright)(?!.*\.map$)/i
/** pnpm's records of the installation. */
const installerNotes = new Set(['.bin', '.modules.yaml', '.pnpm-workspace-state-v1.json', 'lock.yaml'])
/** Prisma contains its query compiler for every supported database. */
const otherDatabases = /^query_compiler_.*\.(cockroachdb|mysql|sqlite|sqlserver)\./

const usage = 'assemble.mjs <program> <folder>'
const [program, folder] = process.argv.slice(2)
const packageName = packageOf(folder === undefined ? undefined : program, usage)
const target = resolve(folder)
if (existsSync(target) && readdirSync(target).length > 0) {
  console.error(`  ${target} is not empty.`)
  process.exit(1)
}
deploy()
const sbom = describeTree(target)
prune(target)
dropDeadLinks(join(target, 'node_modules'))
writeFileSync(join(target, 'sbom.cdx.json'), `${JSON.stringify(sbom, null, 2)}\n`)
copyFileSync(join(root, 'LICENSE'), join(target, 'LICENSE'))

/** Copies the program with its production dependencies, at the versions of the lock file. */
function deploy() {
  const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const parameters = [
    ['--yes', packageManager, '--filter', packageName],
    // Packages of the workspace as copies, so that no link leads back into it.
    ['--config.inject-workspace-packages=true', '--config.package-import-method=copy'],
    ['deploy', '--prod', '--offline', target]
  ].flat()
  const { status, stdout, stderr } = spawnSync('npx', parameters, { cwd: root, encoding: 'utf8' })
  if (status === 0) return
  console.error(`${stdout}${stderr}\n  ${program} could not be deployed.`)
  process.exit(1)
}

/** Removes what is not used at run time. */
function prune(directory) {
  const isOwn = isOwnPackage(directory)
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isSymbolicLink()) continue
    const isLeftOut =
      (isOwn && !ownFiles.has(entry.name)) ||
      (entry.isFile() && isNotRun(entry.name)) ||
      installerNotes.has(entry.name) ||
      (basename(directory) === prebuilds && entry.name !== thisSystem) ||
      isTypes(path)
    if (isLeftOut) rmSync(path, { recursive: true })
    else if (entry.isDirectory()) prune(path)
  }
}

function isNotRun(name) {
  return (notRun.test(name) && !legal.test(name)) || otherDatabases.test(name)
}

/** Removes links to removed files. */
function dropDeadLinks(directory) {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) dropDeadLinks(path)
    else if (entry.isSymbolicLink() && !existsSync(path)) rmSync(path)
  }
}

function isOwnPackage(directory) {
  const manifest = join(directory, 'package.json')
  return existsSync(manifest) && readFileSync(manifest, 'utf8').includes('"name": "@open-payments-server/')
}

function isTypes(path) {
  return /(^|\/)node_modules\/\.pnpm\/@types\+[^/]+$/.test(relative(target, path))
}
