import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DEPENDENCY_REASONS } from './dependency-reasons.js'

/** Packages of this project. */
const OWN_PREFIX = '@open-payments-server/'
const SERVICES = ['services/auth-server', 'services/resource-server']

/** A package that the services run with. */
export interface Dependency {
  readonly name: string
  readonly version: string
  /** SPDX expression, as the package names it. */
  readonly license: string
  /** Whether this project names it itself. */
  readonly isDirect: boolean
  /** The packages of others that bring it, in order. */
  readonly broughtBy: readonly string[]
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/**
 * Everything that is installed with the services for production, found as Node finds it.
 *
 * @param root the repository's root, with its packages installed
 */
export function findDependencies(root: string): Dependency[] {
  const found = new Map<string, { manifest: Manifest; directly: boolean; by: Set<string> }>()
  const visited = new Set<string>()
  const visit = (directory: string): void => {
    if (visited.has(directory)) return
    visited.add(directory)
    const manifest = readManifest(directory)
    const isOwn = manifest.name.startsWith(OWN_PREFIX)
    for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
      const dependency = resolve(directory, name)
      // An optional package of another platform is not here.
      if (dependency === undefined) continue
      if (!name.startsWith(OWN_PREFIX)) {
        const entry = found.get(dependency) ?? {
          manifest: readManifest(dependency),
          directly: false,
          by: new Set()
        }
        found.set(dependency, entry)
        if (isOwn) entry.directly = true
        else entry.by.add(manifest.name)
      }
      visit(dependency)
    }
  }
  for (const service of SERVICES) visit(realpathSync(join(root, service)))
  return [...found.values()]
    .map(({ manifest, directly, by }) => ({
      name: manifest.name,
      version: manifest.version,
      license: manifest.license ?? 'none named',
      isDirect: directly,
      broughtBy: [...by].sort()
    }))
    .sort((left, right) => compare(left.name, right.name) || compare(left.version, right.version))
}

/** The page of all production dependencies, in Markdown. */
export function dependencyReference(root: string): string {
  const dependencies = findDependencies(root)
  const direct = dependencies.filter(({ isDirect }) => isDirect)
  const others = dependencies.filter(({ isDirect }) => !isDirect)
  return [
    '# Dependencies',
    '',
    `The two services run with ${String(direct.length)} packages that this project chose, and ${String(others.length)} that these bring along. Every version is`,
    'pinned in `pnpm-workspace.yaml` and `pnpm-lock.yaml`, and no package may run a script when it is installed, but for the',
    'embedded PostgreSQL of development. `npm run audit:dependencies` asks the registry for known vulnerabilities.',
    '',
    'This page is made by `node infra/stack/scripts/write-docs.mjs`. Do not edit it.',
    '',
    '## Chosen',
    '',
    ...direct.map(
      ({ name, version, license }) =>
        `- \`${name}\` ${version} (${license}): ${DEPENDENCY_REASONS[name] ?? 'no reason given'}`
    ),
    '',
    '## Brought along',
    '',
    ...others.map(
      ({ name, version, license, broughtBy }) =>
        `- \`${name}\` ${version} (${license}), by ${broughtBy.map((by) => `\`${by}\``).join(', ')}`
    ),
    ''
  ].join('\n')
}

function readManifest(directory: string): Manifest {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Manifest
}

/** Looks for a package in the `node_modules` of a folder and of those above it. */
function resolve(from: string, name: string): string | undefined {
  const candidate = join(from, 'node_modules', name)
  if (existsSync(join(candidate, 'package.json'))) return realpathSync(candidate)
  const above = dirname(from)
  return above === from ? undefined : resolve(above, name)
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}
