import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

/** Packages of this project: a version is a commit, so their version numbers mean nothing to others. */
const ownPrefix = '@open-payments-server/'
/** What `process.versions` tells that is no library: Node, numbers of its interfaces, and tables. */
const notLibraries = new Set(['node', 'modules', 'napi', 'cldr', 'tz', 'unicode'])

/**
 * Lists the packages of a deployed program, and the Node that this process runs on, which the image has too: a software bill of
 * materials in the format CycloneDX 1.6. The same tree and the same Node give the same text: it contains no date and no serial
 * number.
 *
 * @param {string} target the folder that `pnpm deploy` wrote
 */
export function describeTree(target) {
  const program = readManifest(target)
  const { packages } = parse(readFileSync(join(target, 'pnpm-lock.yaml'), 'utf8'))
  const libraries = deployedPackages(target)
    .map((directory) => readManifest(directory))
    // Type declarations, which are not in the image.
    .filter(({ name }) => !name.startsWith('@types/'))
    .map((manifest) => describePackage(manifest, packages[`${manifest.name}@${manifest.version}`]))
    .sort((left, right) => (left['bom-ref'] < right['bom-ref'] ? -1 : 1))
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { ...describePackage(program), type: 'application' } },
    components: [describeNode(), ...libraries]
  }
}

/** Folders of the packages, each once: pnpm keeps every version of a package in a folder of its own. */
function deployedPackages(target) {
  const store = join(target, 'node_modules', '.pnpm')
  return readdirSync(store)
    .filter((name) => name.includes('@'))
    .flatMap((name) => packagesOf(join(store, name, 'node_modules')))
}

function packagesOf(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory()) // links are what it depends on
    .flatMap(({ name }) => (name.startsWith('@') ? packagesOf(join(folder, name)) : [join(folder, name)]))
}

function readManifest(directory) {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
}

function describePackage({ name, version, license }, locked) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  return {
    type: 'library',
    name,
    version,
    'bom-ref': purl,
    ...(name.startsWith(ownPrefix) ? {} : { purl }),
    ...(license === undefined ? {} : { licenses: [licenseOf(license)] }),
    ...(locked === undefined ? {} : { hashes: [hashOf(locked.resolution.integrity)] })
  }
}

/** Node, with the libraries that it contains, and the hash of its program. */
function describeNode() {
  const { node: version, ...others } = process.versions
  const purl = `pkg:generic/node@${version}`
  const libraries = Object.entries(others)
    .filter(([name]) => !notLibraries.has(name))
    .sort(([left], [right]) => (left < right ? -1 : 1))
  return {
    type: 'platform',
    name: 'node',
    version,
    'bom-ref': purl,
    purl,
    // By which scanners find what is known about it.
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
    licenses: [licenseOf('MIT')],
    hashes: [
      { alg: 'SHA-256', content: createHash('sha256').update(readFileSync(process.execPath)).digest('hex') }
    ],
    components: libraries.map(([name, itsVersion]) => ({
      type: 'library',
      name,
      version: itsVersion,
      'bom-ref': `${purl}#${name}`
    }))
  }
}

/** One license by its SPDX identifier, or an expression of several. */
function licenseOf(license) {
  return /^[\w.+-]+$/.test(license) ? { license: { id: license } } : { expression: license }
}

/** Converts Subresource Integrity, as in lock files, to hexadecimal. */
function hashOf(integrity) {
  const [, algorithm, digest] = /^(sha\d+)-(.+)$/.exec(integrity)
  return {
    alg: algorithm.replace('sha', 'SHA-'),
    content: Buffer.from(digest, 'base64').toString('hex')
  }
}
