import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The root of the repository. */
export const root = fileURLToPath(new URL('../../../../', import.meta.url))
const manifest = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))

/** The name of the package at the root. */
export const rootName = manifest.name

/**
 * Runs the pnpm that the root names. Ends the process if it fails.
 *
 * @param {readonly string[]} parameters
 */
export function pnpm(parameters) {
  run('npx', ['--yes', manifest.packageManager, ...parameters])
}

/**
 * Runs a program at the root. Ends the process if it fails.
 *
 * @param {string} program
 * @param {readonly string[]} parameters
 */
export function run(program, parameters) {
  const { status } = spawnSync(program, parameters, { cwd: root, stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

/**
 * The parameters that select packages, each with all that it depends on.
 *
 * @param {readonly string[]} names
 */
export function withDependencies(names) {
  return names.flatMap((name) => ['--filter', `${name}...`])
}
