import { createHash } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  CLIENT_NAMES,
  connectInRealTime,
  consentedToken,
  converged,
  createReceiver,
  createSystemTls,
  eventually,
  outgoingAccess,
  pay,
  planSystem,
  SERVER_NAMES,
  type SystemPlan,
  type SystemTls
} from '@open-payments-server/acceptance'
import { send } from '@open-payments-server/testing'
import {
  buildImage,
  type BuildInputs,
  nodeVersion,
  prepareInputs,
  type Program,
  PROGRAMS,
  touchSource
} from '../src/build.js'
import { Container, runContainer } from '../src/container.js'
import { filesOf, type ImageFile, inspectImage, LIST_WRITABLE, lookInto } from '../src/image.js'
import { type PagesPlan, planPages, signIn } from '../src/pages.js'
import { readable } from '../src/readable.js'
import { makeStandIns } from '../src/stand-ins.js'
import { ROOT, Storage } from '../src/storage.js'

const TIME_LIMIT_MS = 1_800_000
const MEGABYTE = 1_000_000
/** Node is 130 MB of it, and the C library 40 MB. */
const SIZE_MAX = 280 * MEGABYTE
const NOBODY = '65532'
/** An idle service has nothing to finish. */
const STOP_MS_MAX = 10_000
const EVENT_EVERY_MS = 500

let storage: Storage
let inputs: BuildInputs
const images = new Map<Program, string>()
const imageOf = (program: Program): string => images.get(program)!

beforeAll(async () => {
  storage = await Storage.open()
  const bases = await makeStandIns(storage, nodeVersion())
  inputs = await prepareInputs(storage, bases)
  await plantSecrets(inputs.context)
  const lines = [`layers: ${storage.driver}`]
  for (const program of PROGRAMS) {
    const { image, seconds, steps } = await buildImage(storage, inputs, program)
    images.set(program, image)
    const { size } = await inspectImage(storage, image)
    const cached = steps.filter(({ isCached }) => isCached).length
    lines.push(
      `${program}: ${seconds.toFixed()} s, ${cached} of ${steps.length} steps from the cache, ${(size / MEGABYTE).toFixed()} MB`
    )
  }
  console.log(lines.join('\n'))
}, TIME_LIMIT_MS)

afterAll(async () => {
  await inputs.remove()
})

/** Files that the shipped `Dockerfile.dockerignore` must keep out. */
const SECRETS = [
  '.env',
  '.npmrc',
  'services/auth-server/tls.key',
  'services/auth-server/ca.pem',
  '.git/config'
]

async function plantSecrets(context: string): Promise<void> {
  for (const path of SECRETS) {
    await mkdir(dirname(join(context, path)), { recursive: true })
    await writeFile(join(context, path), 'only-of-this-trial')
  }
}

describe.each(PROGRAMS)('the image of the %s', (program) => {
  let files: ImageFile[]
  let sbom: { components: Record<string, unknown>[] }
  let licenses: Record<string, string>
  let nodeHash: string

  beforeAll(async () => {
    await lookInto(storage, imageOf(program), async (folder) => {
      const read = (path: string) => readFile(join(folder, path))
      files = await filesOf(folder)
      sbom = JSON.parse(String(await read('app/sbom.cdx.json'))) as typeof sbom
      licenses = {
        own: String(await read('app/LICENSE')),
        node: String(await read('usr/local/share/doc/node/LICENSE'))
      }
      nodeHash = createHash('sha256')
        .update(await read('usr/local/bin/node'))
        .digest('hex')
    })
  }, TIME_LIMIT_MS)

  it('is small, and starts its program as nobody', async () => {
    const { configuration, size } = await inspectImage(storage, imageOf(program))
    expect(size).toBeLessThan(SIZE_MAX)
    expect(configuration).toMatchObject({
      User: `${NOBODY}:${NOBODY}`,
      WorkingDir: '/app',
      Entrypoint: [
        '/usr/local/bin/node',
        expect.any(String),
        expect.any(String),
        expect.any(String),
        'dist/main.js'
      ]
    })
    expect(configuration.Cmd ?? []).toEqual([])
    expect(configuration.Env).toContain('NODE_ENV=production')
  })

  it('has the labels of OCI', async () => {
    const { configuration } = await inspectImage(storage, imageOf(program))
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string }
    expect(configuration.Labels).toMatchObject({
      'org.opencontainers.image.title': program,
      'org.opencontainers.image.description': expect.stringContaining(program),
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.licenses': 'Apache-2.0',
      'org.opencontainers.image.base.name': inputs.bases.runtime
    })
  })

  it('adds only the program, Node and licenses to its base', async () => {
    const ofBase = await lookInto(storage, inputs.bases.runtime, (folder) => filesOf(folder))
    const known = new Set(ofBase.map(({ path }) => path))
    const added = files.filter(({ path, isFolder }) => !isFolder && !known.has(path)).map(({ path }) => path)
    expect(added.filter((path) => !path.startsWith('/app/')).sort()).toEqual([
      '/usr/local/bin/node',
      '/usr/local/share/doc/node/LICENSE'
    ])
  })

  it('has no shell, no package manager and no compiler', () => {
    const names = new Set(
      files.filter(({ isFolder }) => !isFolder).map(({ path }) => path.slice(path.lastIndexOf('/') + 1))
    )
    for (const name of [
      'sh',
      'bash',
      'dash',
      'busybox',
      'apt',
      'apt-get',
      'dpkg',
      'npm',
      'npx',
      'pnpm',
      'corepack'
    ]) {
      expect(names).not.toContain(name)
    }
    for (const name of [
      'gcc',
      'cc',
      'ld',
      'make',
      'python3',
      'perl',
      'git',
      'curl',
      'wget',
      'swc',
      'tsc',
      'turbo'
    ]) {
      expect(names).not.toContain(name)
    }
    const places = files.map(({ path }) => path).filter((path) => /^(\/usr(\/local)?)?\/s?bin\//.test(path))
    expect(places).toEqual(['/usr/local/bin/node'])
  })

  it('belongs to root, is written to by nobody, and gives nobody rights', () => {
    const own = files.filter(({ path }) => path.startsWith('/app/') || path.startsWith('/usr/local/'))
    expect(own.length).toBeGreaterThan(100)
    expect(own.filter(({ uid, gid }) => uid !== 0 || gid !== 0)).toEqual([])
    expect(own.filter(({ mode, isLink }) => !isLink && (mode & 0o022) !== 0)).toEqual([])
    expect(files.filter(({ mode, isFolder }) => !isFolder && (mode & 0o6000) !== 0)).toEqual([])
  })

  it('has its license and that of Node', async () => {
    expect(licenses.own).toBe(await readFile(join(ROOT, 'LICENSE'), 'utf8'))
    expect(licenses.node).toContain('Node.js is licensed for use as follows')
  })

  it('has a bill of materials that names the Node in it', async () => {
    const { code, output } = await runContainer(storage, {
      image: imageOf(program),
      entrypoint: '/usr/local/bin/node',
      words: ['--version']
    })
    expect({ code, output }).toEqual({ code: 0, output: `v${nodeVersion()}\n` })
    expect(sbom.components[0]).toMatchObject({
      name: 'node',
      version: nodeVersion(),
      cpe: `cpe:2.3:a:nodejs:node.js:${nodeVersion()}:*:*:*:*:*:*:*`,
      hashes: [{ alg: 'SHA-256', content: nodeHash }]
    })
  })

  it('finds no place to write to', async () => {
    const { code, output } = await runContainer(storage, {
      image: imageOf(program),
      entrypoint: '/usr/local/bin/node',
      words: ['--eval', LIST_WRITABLE]
    })
    expect({ code, output }).toEqual({ code: 0, output: '[]\n' })
  })
})

describe('a builder', () => {
  it('gets no secrets, and keeps none', async () => {
    const { image } = await buildImage(storage, inputs, 'operator', { target: 'build' })
    await lookInto(storage, image, async (folder) => {
      for (const path of SECRETS) {
        await expect(readFile(join(folder, 'build', path))).rejects.toMatchObject({ code: 'ENOENT' })
      }
      // The builder may leave the empty files over which it mounted them.
      for (const path of ['root/.npmrc', 'run/authorities.crt']) {
        expect(await readFile(join(folder, path), 'utf8').catch(() => '')).toBe('')
      }
    })
  })

  it('does nothing anew where nothing has changed', async () => {
    const { steps } = await buildImage(storage, inputs, 'auth-server')
    const work = steps.filter(({ instruction }) => instruction.startsWith('RUN'))
    expect(work).toHaveLength(4)
    expect(work.filter(({ isCached }) => !isCached)).toEqual([])
  })

  it(
    'installs nothing anew where a source has changed, and builds once for all images',
    async () => {
      await touchSource(inputs)
      const anew = async (program: Program) => {
        const { seconds, steps } = await buildImage(storage, inputs, program)
        console.log(`${program}, after a change of a source: ${seconds.toFixed()} s`)
        return steps
          .filter(({ instruction, isCached }) => instruction.startsWith('RUN') && !isCached)
          .map(({ instruction }) => /(\w[\w-]*)\.mjs/.exec(instruction)?.[1])
      }
      expect(await anew('operator')).toEqual(['keep-manifests', 'build', 'assemble'])
      expect(await anew('auth-server')).toEqual(['assemble'])
    },
    TIME_LIMIT_MS
  )
})

describe('the images together, without rights', () => {
  let tls: SystemTls
  let plan: SystemPlan
  let folders: string[]
  let operator: Readonly<Record<string, string>>
  let pages: PagesPlan
  let pagesSettings: Readonly<Record<string, string>>
  const running: Container[] = []

  /** Runs the image of a service with its settings. */
  const serviceOf = (service: 'auth-server' | 'resource-server', ...words: string[]) => {
    const [instance] = service === 'auth-server' ? plan.authServers : plan.resourceServers
    return { image: imageOf(service), words, environment: instance!.settings, folders }
  }
  const start = (options: ConstructorParameters<typeof Container>[1]): Container => {
    const container = new Container(storage, options)
    running.push(container)
    return container
  }
  const operate = (...words: string[]) =>
    runContainer(storage, { image: imageOf('operator'), words, environment: operator, folders })

  beforeAll(async () => {
    const { TEST_REDIS_URL: redis } = process.env
    if (redis === undefined) throw new Error('redis-server is not installed')
    tls = await createSystemTls()
    const shared = { REDIS_URL: redis, REPLICA_COUNT: '2' }
    pages = await planPages()
    plan = await planSystem({
      tls,
      auth: { ...shared, ...pages.auth, CONTINUATION_WAIT_SECONDS: '0' },
      resource: { ...shared, ...pages.resource }
    })
    for (const database of [plan.authDatabase, plan.resourceDatabase]) {
      await database.query('drop schema public cascade')
      await database.query('create schema public')
    }
    const files = await tls.files({ uris: [CLIENT_NAMES.operator] })
    operator = {
      AUTH_GRPC_TARGET: `127.0.0.1:${plan.authServers[0]!.grpcPort}`,
      WALLET_GRPC_TARGET: `127.0.0.1:${plan.resourceServers[0]!.grpcPort}`,
      AUTH_GRPC_TLS_SERVER_NAME: SERVER_NAMES['auth-server'],
      WALLET_GRPC_TLS_SERVER_NAME: SERVER_NAMES['resource-server'],
      OPERATOR_TLS_CERTIFICATE_FILE: files.certificate,
      OPERATOR_TLS_KEY_FILE: files.key,
      OPERATOR_TLS_CA_FILE: files.authority
    }
    const filesOfPages = await tls.files({ uris: [CLIENT_NAMES.pages] })
    pagesSettings = { ...pages.settings(plan, filesOfPages), ...shared }
    folders = await readable([
      ...Object.values(tls.auth),
      ...Object.values(tls.resource),
      ...Object.values(files),
      ...Object.values(filesOfPages)
    ])
  }, TIME_LIMIT_MS)

  afterAll(async () => {
    await Promise.all(running.map((container) => container.remove()))
    await Promise.all([plan.authDatabase.drop(), plan.resourceDatabase.drop()])
    await tls.stop()
  })

  it(
    'migrate empty databases, and find nothing to do the second time',
    async () => {
      for (const applied of [/"applied":\["\d+/, /"applied":\[\]/]) {
        for (const service of ['auth-server', 'resource-server'] as const) {
          const { code, output } = await runContainer(storage, serviceOf(service, 'migrate'))
          expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(applied) })
        }
      }
    },
    TIME_LIMIT_MS
  )

  it(
    'serve clients and people, are operated, and stop in time',
    async () => {
      const authServer = start(serviceOf('auth-server'))
      const resourceServer = start(serviceOf('resource-server'))
      await authServer.whenReady(plan.authServers[0]!.readyUrl)
      await resourceServer.whenReady(plan.resourceServers[0]!.readyUrl)
      await expectNoRights(authServer)
      await expectNoRights(resourceServer)
      const issuer = start({ image: imageOf('development-issuer'), environment: pages.issuerEnvironment })
      const web = start({ image: imageOf('web'), environment: pagesSettings, folders })
      await issuer.whenReady(`${pages.issuer}/.well-known/openid-configuration`, {
        reason: 'the contract of an issuer is that of OpenID Connect'
      })
      await web.whenReady(`${pages.holders}/readyz`)
      await expectNoRights(web)
      await expectNoRights(issuer)

      const system = await connectInRealTime(plan)
      const watch = start({
        image: imageOf('operator'),
        words: ['event', 'watch'],
        environment: operator,
        folders
      })
      try {
        expect((await send('GET', `${system.resourceServerUrl}/healthz`)).status).toBe(200)
        const alice = await send('GET', system.walletAddresses.alice)
        expect(alice.status).toBe(200)
        expect(alice.at('authServer')).toBe(system.authServerUrl)
        const receiver = await createReceiver(system, system.shop, { incoming: 2500n })
        const { token } = await consentedToken(system, system.shop, [outgoingAccess(system)])
        expect((await pay(system, system.shop, token, receiver.url, 2500n)).status).toBe(201)
        await converged(system)
        expect(await system.balance('bob')).toBe(2500n)
        // It tells of what happens once it watches, and not when that is.
        await eventually('the operator sees an event', async () => {
          await createReceiver(system, system.shop)
          await delay(EVENT_EVERY_MS)
          return watch.output.includes('incoming_payment.created')
        })

        const allowed = await signIn(pages, 'alice', `${pages.holders}/`)
        expect(allowed).toMatchObject({ status: 200, text: expect.stringContaining('Payments you allow') })
        const accounts = await signIn(pages, 'operator', `${pages.console}/accounts`)
        expect(accounts).toMatchObject({ status: 200, text: expect.stringContaining('carol') })

        const status = await operate('status')
        expect(status).toEqual({ code: 0, output: expect.stringContaining('lost payments') })
        const audit = await operate('audit')
        expect(audit).toEqual({ code: 0, output: expect.stringMatching(/All \d+ invariants hold\./) })
      } finally {
        system.close()
      }
      expect(await watch.terminate()).toMatchObject({ code: 0 })
      for (const [name, container] of Object.entries({ web, issuer, resourceServer, authServer })) {
        const { code, output, milliseconds } = await container.terminate()
        console.log(`${name} stopped in ${milliseconds.toFixed()} ms`)
        expect({ code, output }).toMatchObject({ code: 0 })
        expect(milliseconds).toBeLessThan(STOP_MS_MAX)
        if (container === issuer) continue
        for (const line of output.trim().split('\n')) expect(() => JSON.parse(line) as unknown).not.toThrow()
      }
    },
    TIME_LIMIT_MS
  )

  it(
    'say what is wrong, and fail',
    async () => {
      const { code, output } = await operate('audit')
      expect({ code, output }).toEqual({ code: 2, output: expect.stringContaining('error: ') })
      const lacking = await runContainer(storage, { image: imageOf('auth-server') })
      expect(lacking).toEqual({ code: 1, output: expect.stringContaining('DATABASE_URL: is not set') })
      const lackingPages = await runContainer(storage, { image: imageOf('web') })
      expect(lackingPages).toEqual({ code: 1, output: expect.stringContaining('ISSUER: is not set') })
    },
    TIME_LIMIT_MS
  )
})

/** A process as nobody, which cannot get capabilities or other rights, with a root that is mounted read-only. */
async function expectNoRights(container: Container): Promise<void> {
  const status = await container.status()
  expect(status.get('Uid')?.split('\t')).toEqual(Array(4).fill(NOBODY))
  for (const name of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) {
    expect([name, Number.parseInt(status.get(name) ?? '', 16)]).toEqual([name, 0])
  }
  expect(status.get('NoNewPrivs')).toBe('1')
  // A filter of system calls.
  expect(status.get('Seccomp')).toBe('2')
  expect(await container.rootMount()).toContain('ro')
}
