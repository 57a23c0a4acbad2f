import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

/** Packages of this project: a version is a commit, so their version numbers mean nothing to others. */
const ownPrefix = '@open-payments-server/'

/**
 * Lists the packages of a deployed service: a software bill of materials in the format CycloneDX 1.6. The same tree gives the same
 * text: it contains no date and no serial number.
 *
 * @param {string} target the folder that `pnpm deploy` wrote
 */
export function describeTree(target) {
  const service = readManifest(target)
  const { packages } = parse(readFileSync(join(target, 'pnpm-lock.yaml'), 'utf8'))
  const components = deployedPackages(target)
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
    metadata: { component: { ...describePackage(service), type: 'application' } },
    components
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
