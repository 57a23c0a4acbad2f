import { readFileSync } from 'node:fs'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { BaseImages } from './stand-ins.js'
import { ROOT, run, type Storage } from './storage.js'

/** The names of the images. */
export const PROGRAMS = ['auth-server', 'resource-server', 'web', 'operator', 'development-issuer'] as const
export type Program = (typeof PROGRAMS)[number]

const DOCKERFILE = join(ROOT, 'infra', 'deploy', 'docker', 'Dockerfile')
/** Where Debian keeps the authorities that it trusts. */
const AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt'

/** What `docker build` is given, beside the Dockerfile. */
export interface BuildInputs {
  /** The files of this checkout, as git keeps them; committed or not. */
  readonly context: string
  readonly bases: BaseImages
  /** A configuration of npm. */
  readonly npmrc: string
  readonly remove: () => Promise<void>
}

/** How an image was built. */
export interface Built {
  readonly image: string
  readonly seconds: number
  /** What the builder did, a step for each line of the Dockerfile. */
  readonly steps: readonly Step[]
}

/** A step, and whether its layer was there already. */
export interface Step {
  readonly instruction: string
  readonly isCached: boolean
}

/** The version of Node that the Dockerfile names. */
export function nodeVersion(): string {
  const [, version] = /^ARG NODE_IMAGE=\S+\/node:([\d.]+)-/m.exec(readFileSync(DOCKERFILE, 'utf8')) ?? []
  if (version === undefined) throw new Error(`${DOCKERFILE} does not name the version of its Node`)
  return version
}

/** Copies what git keeps of this checkout, and prepares what a build needs to reach the registry of this machine. */
export async function prepareInputs(storage: Storage, bases: BaseImages): Promise<BuildInputs> {
  const folder = await storage.makeFolder('build')
  const context = join(folder, 'context')
  const listed = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT
  })
  for (const path of listed.split('\0').filter((each) => each !== '')) {
    await mkdir(dirname(join(context, path)), { recursive: true })
    await cp(join(ROOT, path), join(context, path))
  }
  const registry = (await run('npm', ['config', 'get', 'registry'])).trim()
  const npmrc = join(folder, 'npmrc')
  await writeFile(npmrc, `registry=${registry}\ncafile=/run/authorities.crt\n`)
  return { context, bases, npmrc, remove: () => rm(folder, { recursive: true }) }
}

/**
 * Builds the image of a program from the shipped Dockerfile.
 *
 * @param options.target the stage to end with; the last unless given
 */
export async function buildImage(
  storage: Storage,
  inputs: BuildInputs,
  program: Program,
  options: { readonly target?: string } = {}
): Promise<Built> {
  const { target } = options
  const image = `localhost/open-payments/${[program, ...(target === undefined ? [] : [target])].join('-')}:test`
  const start = performance.now()
  const output = await storage.buildah(
    ...['bud', '--isolation', 'chroot', '--network', 'host', '--pull=never', '--layers'],
    ...['--file', DOCKERFILE, '--ignorefile', `${DOCKERFILE}.dockerignore`],
    ...['--secret', `id=npmrc,src=${inputs.npmrc}`],
    ...['--secret', `id=authorities,src=${process.env.NODE_EXTRA_CA_CERTS ?? AUTHORITIES}`],
    ...[
      '--build-arg',
      `NODE_IMAGE=${inputs.bases.node}`,
      '--build-arg',
      `RUNTIME_IMAGE=${inputs.bases.runtime}`
    ],
    ...['--build-arg', `PROGRAM=${program}`],
    ...(target === undefined ? [] : ['--target', target]),
    ...['--tag', image, inputs.context]
  )
  return { image, seconds: (performance.now() - start) / 1000, steps: stepsOf(output) }
}

/** Changes a source file in a way that no program notices. */
export async function touchSource(inputs: BuildInputs): Promise<void> {
  const path = join(inputs.context, 'packages', 'operator-cli', 'src', 'main.ts')
  await writeFile(path, `${await readFile(path, 'utf8')}\n// ${new Date().toISOString()}\n`)
}

/** Reads what the builder printed: of each step its line, and `--> Using cache` where its layer was there. */
function stepsOf(output: string): Step[] {
  return output
    .split(/^(?:\[\d+\/\d+\] )?STEP \d+\/\d+: /m)
    .slice(1)
    .map((text) => ({
      instruction: text.slice(0, text.indexOf('\n')),
      isCached: text.includes('--> Using cache')
    }))
}
