// Asks the package registry for known vulnerabilities of production dependencies. High and critical advisories fail; lesser ones
// are listed. If the registry cannot be reached, a warning is printed and nothing fails.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const FAILING = ['high', 'critical']
const root = fileURLToPath(new URL('../../../', import.meta.url))
const { packageManager } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))

const { stdout } = spawnSync('npx', ['--yes', packageManager, 'audit', '--prod', '--json'], {
  cwd: root,
  encoding: 'utf8',
  timeout: 60_000,
  shell: process.platform === 'win32'
})

/** @returns the advisories; undefined when the registry gave none */
function readAdvisories(text) {
  try {
    const { advisories } = JSON.parse(text)
    return advisories === undefined ? undefined : Object.values(advisories)
  } catch {
    return undefined
  }
}

const advisories = readAdvisories(stdout ?? '')
if (advisories === undefined) {
  console.warn(
    '  Not checked for known vulnerabilities: the package registry did not tell of any advisories.'
  )
} else {
  for (const { severity, module_name: name, title, url } of advisories) {
    console.log(`  ${severity}: ${name}: ${title} (${url})`)
  }
  const failing = advisories.filter(({ severity }) => FAILING.includes(severity))
  console.log(`  ${advisories.length} known vulnerabilities, ${failing.length} of them high or critical.`)
  if (failing.length > 0) process.exitCode = 1
}
