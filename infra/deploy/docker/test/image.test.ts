import { createHash, randomBytes } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { findFreePorts } from '@open-payments-server/local-services'
import { NODE_ENVIRONMENT, NODE_FLAGS } from '@open-payments-server/service-kit/node-flags'
import { createTestAuthority } from '@open-payments-server/testing/certificates'
import { Ajv, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import pg from 'pg'
import { AssembledTree, type ImageProcess } from './assembled-tree.js'

const SERVICES = ['auth-server', 'resource-server'] as const
const SHIPPED = [...SERVICES, 'web', 'operator'] as const
/** With what is for development alone. */
const PROGRAMS = [...SHIPPED, 'development-issuer'] as const
type Service = (typeof SERVICES)[number]
type Program = (typeof PROGRAMS)[number]

const MEGABYTE = 1_000_000
/** It was 41 MB when this was set; development dependencies or Prisma's other databases would exceed it. */
const SIZE_MAX = 50 * MEGABYTE
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))

const trees = new Map<Program, AssembledTree>()
const treeOf = (program: Program): AssembledTree => trees.get(program)!

let validateBom: ValidateFunction

beforeAll(async () => {
  validateBom = bomValidator()
  await Promise.all(
    PROGRAMS.map(async (program) => trees.set(program, await AssembledTree.assemble(program)))
  )
}, 300_000)

afterAll(async () => {
  await Promise.all([...trees.values()].map((tree) => tree.remove()))
})

it('starts Node with the same options as elsewhere', async () => {
  const text = await readFile(join(ROOT, 'infra/deploy/docker/Dockerfile'), 'utf8')
  const [, entrypoint = ''] = /^ENTRYPOINT (.*)$/m.exec(text) ?? []
  expect(JSON.parse(entrypoint)).toEqual(['/usr/local/bin/node', ...NODE_FLAGS, 'dist/main.js'])
  const [, environment] = /^ENV (NODE_ENV=production.*)$/m.exec(text) ?? []
  const settings = Object.entries({ NODE_ENV: 'production', ...NODE_ENVIRONMENT })
  expect(environment?.split(' ')).toEqual(settings.map(([name, value]) => `${name}=${value}`))
})

it('pins its base images by digest', async () => {
  const text = await readFile(join(ROOT, 'infra/deploy/docker/Dockerfile'), 'utf8')
  const bases = [...text.matchAll(/^ARG \w+_IMAGE=(.*)$/gm)].map(([, image]) => image)
  expect(bases).toHaveLength(2)
  for (const base of bases) expect(base).toMatch(/^[\w.]+\/[\w./-]+:[\w.-]+@sha256:[\da-f]{64}$/)
  const stages = [...text.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image)
  expect(new Set(stages)).toEqual(new Set(['${NODE_IMAGE}', '${RUNTIME_IMAGE}']))
})

it('is labelled with the version of the project', async () => {
  const text = await readFile(join(ROOT, 'infra/deploy/docker/Dockerfile'), 'utf8')
  const { version, license } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  expect(text).toContain(`org.opencontainers.image.version="${version}"`)
  expect(text).toContain(`org.opencontainers.image.licenses="${license}"`)
})

describe.each(SERVICES)('the image of the %s', (service) => {
  it('contains migrations', async () => {
    const files = await treeOf(service).files()
    expect(files).toContain('prisma/schema.prisma')
    expect(files.some((path) => /^prisma\/migrations\/[^/]+\/migration\.sql$/.test(path))).toBe(true)
  })
})

describe.each(PROGRAMS)('the image of the %s', (program) => {
  it('contains its program and its license', async () => {
    const tree = treeOf(program)
    expect(await tree.files()).toEqual(expect.arrayContaining(['dist/main.js', 'sbom.cdx.json']))
    expect(await tree.read('LICENSE')).toBe(await readFile(join(ROOT, 'LICENSE'), 'utf8'))
  })

  it('is small, without sources, tests, maps, keys or settings, and with one native module at most', async () => {
    const tree = treeOf(program)
    expect(await tree.size()).toBeLessThan(SIZE_MAX)
    const files = await tree.files()
    expect(files.filter((path) => /\.(map|[cm]?ts|pem|key|crt|so|exe|bare)$/.test(path))).toEqual([])
    const native = new RegExp(`/prebuilds/${process.platform}-${process.arch}/sodium-native\\.node$`)
    expect(files.filter((path) => path.endsWith('.node'))).toEqual(
      program === 'operator' || program === 'development-issuer' ? [] : [expect.stringMatching(native)]
    )
    expect(files.filter((path) => /(^|\/)\.(env|npmrc|yarnrc|git)$/.test(path))).toEqual([])
    const sources = /(^|\/@open-payments-server\/[^/]+\/)(src|test|scripts)\//
    expect(files.filter((path) => sources.test(path))).toEqual([])
  })

  it('contains no development dependency', async () => {
    const { components } = await readSbom(program)
    const names = components.map(({ name }) => name)
    for (const { name } of await developmentPackages()) expect(names).not.toContain(name)
    expect(names.filter((name) => /^(prisma|typescript|jest|react)$|eslint|swc|@types\//.test(name))).toEqual(
      []
    )
  })

  it('comes with a bill of materials that is valid CycloneDX and names Node and each package with its hash', async () => {
    const sbom = await readSbom(program)
    validateBom(sbom)
    expect(validateBom.errors).toBeNull()
    const [node, ...libraries] = sbom.components
    const hash = createHash('sha256').update(await readFile(process.execPath))
    expect(node).toMatchObject({
      name: 'node',
      version: process.versions.node,
      hashes: [{ alg: 'SHA-256', content: hash.digest('hex') }],
      components: expect.arrayContaining([
        expect.objectContaining({ name: 'openssl', version: process.versions.openssl })
      ])
    })
    const foreign = libraries.filter(({ name }) => !name.startsWith('@open-payments-server/'))
    expect(foreign.length).toBeGreaterThan(10)
    for (const component of foreign) {
      expect(component).toMatchObject({
        purl: expect.stringMatching(/^pkg:npm\//),
        hashes: [expect.anything()]
      })
    }
  })

  it('is not writable by its user', async () => {
    const writing = treeOf(program).spawn(['--eval', "require('node:fs').writeFileSync('dist/main.js', '')"])
    const { code, output } = await writing.ended
    expect({ code, output }).toMatchObject({ code: 1, output: expect.stringMatching(/EACCES|EROFS/) })
  })
})

it('the bills of materials name the same packages as the page of dependencies', async () => {
  const page = await readFile(join(ROOT, 'docs/dependencies.md'), 'utf8')
  const listed = new Set(
    [...page.matchAll(/^- `([^`]+)` (\S+) \(/gm)].map(([, name, version]) => `${name}@${version}`)
  )
  const boms = await Promise.all(SHIPPED.map((program) => readSbom(program)))
  const built = boms.flatMap(({ components }) =>
    components
      .filter(({ purl }) => purl?.startsWith('pkg:npm/'))
      .map(({ name, version }) => `${name}@${version}`)
  )
  expect(new Set(built)).toEqual(new Set([...listed].filter((name) => !name.startsWith('@types/'))))
})

describe('the image of the operator', () => {
  it('is the command line', async () => {
    const ended = await treeOf('operator').spawn(['dist/main.js', '--help']).ended
    expect(ended).toMatchObject({ code: 0, output: expect.stringContaining('Usage: operator ') })
  })

  it('ends on SIGTERM, to which the first process of a container must listen', async () => {
    const silent = createServer()
    const called = once(silent, 'connection')
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const target = `127.0.0.1:${String((silent.address() as AddressInfo).port)}`
    const asking = treeOf('operator').spawn(['dist/main.js', 'status'], {
      AUTH_GRPC_TARGET: target,
      WALLET_GRPC_TARGET: target
    })
    await called
    expect(await asking.terminate()).toMatchObject({ code: 128 + 15 })
    silent.close()
  })
})

describe('the images of both services, as a user without rights', () => {
  const running: ImageProcess[] = []
  let system: System

  beforeAll(async () => {
    system = await prepareSystem()
  })

  afterAll(async () => {
    for (const each of running) each.kill()
    await system.remove()
  })

  it('migrate their databases, and find nothing to do the second time', async () => {
    const migrate = async (service: Service) =>
      treeOf(service).spawn(['dist/main.js', 'migrate'], system.settings[service]).ended
    for (const ended of await Promise.all(SERVICES.map(migrate))) {
      expect(ended).toMatchObject({ code: 0, output: expect.stringMatching(/"applied":\["\d+/) })
    }
    expect(await migrate('auth-server')).toMatchObject({
      code: 0,
      output: expect.stringContaining('"applied":[]')
    })
  }, 300_000)

  it('start with production settings, are ready over mutual TLS, and stop on SIGTERM', async () => {
    const authServer = treeOf('auth-server').spawn(['dist/main.js'], system.settings['auth-server'])
    running.push(authServer)
    await authServer.answers(system.probePorts['auth-server'], '/readyz')
    const resourceServer = treeOf('resource-server').spawn(
      ['dist/main.js'],
      system.settings['resource-server']
    )
    running.push(resourceServer)
    await resourceServer.answers(system.probePorts['resource-server'], '/readyz')
    await resourceServer.answers(system.probePorts['resource-server'], '/healthz')
    if (process.getuid?.() === 0) expect(await authServer.userId()).toBe(65_532)

    expect(await resourceServer.terminate()).toMatchObject({ code: 0 })
    expect(await authServer.terminate()).toMatchObject({ code: 0 })
  }, 300_000)
})

describe('the image of the pages, as a user without rights', () => {
  it('starts with production settings, is ready though nothing that it asks is there, and stops on SIGTERM', async () => {
    const folder = await mkdtemp(join(await realpath(tmpdir()), 'image-secrets-'))
    await chmod(folder, 0o755)
    const [port = 0] = await findFreePorts(1)
    const files = await writeTlsFiles(folder, await createTestAuthority(), 'web')
    const target = (service: string) => ({
      [`${service}_GRPC_TARGET`]: 'dns:///localhost:9',
      [`${service}_GRPC_TLS_CA_FILE`]: files.authority,
      [`${service}_GRPC_TLS_CERTIFICATE_FILE`]: files.certificate,
      [`${service}_GRPC_TLS_KEY_FILE`]: files.key
    })
    const pages = treeOf('web').spawn(['dist/main.js'], {
      HTTP_PORT: String(port),
      PUBLIC_URL: 'https://pages.wallet.test',
      TRUSTED_PROXIES: '10.0.0.0/8',
      ISSUER: 'https://login.wallet.test',
      CLIENT_ID: 'consent-page',
      CLIENT_SECRET: randomBytes(24).toString('base64'),
      SESSION_KEY: randomBytes(24).toString('base64'),
      AUTH_API_URL: 'http://localhost:9',
      IDENTITY_PROVIDER_SECRET: randomBytes(24).toString('base64'),
      ...target('AUTH'),
      ...target('RESOURCE')
    })
    try {
      await pages.answers(port, '/readyz')
      const page = await fetch(`http://127.0.0.1:${String(port)}/signed-out`)
      expect(await page.text()).toContain('You are signed out')
      expect(await pages.terminate()).toMatchObject({ code: 0 })
    } finally {
      pages.kill()
      await rm(folder, { recursive: true })
    }
  }, 300_000)
})

interface Component {
  readonly name: string
  readonly version: string
  readonly purl?: string
}

async function readSbom(program: Program): Promise<{ components: Component[] }> {
  return JSON.parse(await treeOf(program).read('sbom.cdx.json'))
}

/** Development dependencies of a service. */
async function developmentPackages(): Promise<{ name: string }[]> {
  const manifests = await Promise.all(
    SERVICES.map(async (service) =>
      JSON.parse(await readFile(join(ROOT, 'services', service, 'package.json'), 'utf8'))
    )
  )
  // Packages that both tests and production dependencies of a service use.
  const used = await Promise.all(
    ['database', 'grpc-transport', 'http-client', 'webhooks'].map(async (name) =>
      Object.keys(
        JSON.parse(await readFile(join(ROOT, 'packages', name, 'package.json'), 'utf8')).dependencies
      )
    )
  )
  return manifests
    .flatMap(({ devDependencies }) => Object.keys(devDependencies))
    .filter((name) => !used.flat().includes(name))
    .map((name) => ({ name }))
}

/** Validates against the schema that CycloneDX publishes. */
function bomValidator(): ValidateFunction {
  const require = createRequire(import.meta.url)
  const library = dirname(require.resolve('@cyclonedx/cyclonedx-library/package.json'))
  const schema = (name: string) => require(join(library, 'res', 'schema', `${name}.SNAPSHOT.schema.json`))
  const ajv = new Ajv({ strict: false })
  addFormats.default(ajv)
  ajv.addFormat('iri-reference', true).addFormat('idn-email', true)
  // The schemas refer to each other by file name.
  for (const name of ['spdx', 'jsf-0.82', 'cryptography-defs']) {
    ajv.addSchema({ ...schema(name), $id: `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json` })
  }
  return ajv.compile(schema('bom-1.6'))
}

interface System {
  readonly settings: Record<Service, Record<string, string>>
  readonly probePorts: Record<Service, number>
  remove(): Promise<void>
}

/** Files of a certificate with the name of a program, in a folder of its own. */
async function writeTlsFiles(
  folder: string,
  authority: Awaited<ReturnType<typeof createTestAuthority>>,
  program: Program
): Promise<{ certificate: string; key: string; authority: string }> {
  const { certificate, key } = await authority.issue({
    dnsNames: ['localhost'],
    uris: [`spiffe://wallet.test/${program}`]
  })
  const path = (name: string) => join(folder, program, name)
  await mkdir(join(folder, program))
  await writeFile(path('tls.crt'), certificate)
  await writeFile(path('tls.key'), key)
  await writeFile(path('ca.crt'), authority.certificate)
  return { certificate: path('tls.crt'), key: path('tls.key'), authority: path('ca.crt') }
}

/** Empty databases, certificates and free ports, as in production. */
async function prepareSystem(): Promise<System> {
  const databases = await Promise.all(SERVICES.map(() => createEmptyDatabase()))
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'image-secrets-'))
  await chmod(folder, 0o755)
  const authority = await createTestAuthority()
  const tlsFiles = (service: Service) => writeTlsFiles(folder, authority, service)
  const [http, identityProvider, authGrpc, resourceHttp, resourceGrpc] = (await findFreePorts(5)).map(String)
  const [authTls, resourceTls] = [await tlsFiles('auth-server'), await tlsFiles('resource-server')]
  const redis = process.env.TEST_REDIS_URL
  const common = {
    TRUSTED_PROXIES: '10.0.0.0/8',
    GRPC_OPERATOR_CLIENTS: 'spiffe://wallet.test/operator',
    OPERATOR_MACHINES: 'spiffe://wallet.test/operator=operator+approver',
    DATABASE_DURABILITY: 'platform'
  }
  const listener = (tls: typeof authTls, port: string) => ({
    GRPC_PORT: port,
    GRPC_TLS_CERTIFICATE_FILE: tls.certificate,
    GRPC_TLS_KEY_FILE: tls.key,
    GRPC_TLS_CLIENT_CA_FILE: tls.authority
  })
  return {
    probePorts: { 'auth-server': Number(identityProvider), 'resource-server': Number(resourceHttp) },
    settings: {
      'auth-server': {
        ...common,
        ...listener(authTls, authGrpc!),
        PUBLIC_URL: 'https://auth.wallet.test/',
        CONSENT_PAGE_URL: 'https://wallet.test/consent',
        CONSENT_PROOF: 'none',
        HTTP_PORT: http!,
        IDENTITY_PROVIDER_PORT: identityProvider!,
        IDENTITY_PROVIDER_SECRET: randomBytes(24).toString('base64'),
        GRPC_INTROSPECTION_CLIENTS: 'spiffe://wallet.test/resource-server',
        GRPC_LIMITS_CLIENTS: 'spiffe://wallet.test/resource-server',
        DATABASE_URL: databases[0]!.url,
        ...(redis === undefined ? {} : { REDIS_URL: redis, REPLICA_COUNT: '2' })
      },
      'resource-server': {
        ...common,
        ...listener(resourceTls, resourceGrpc!),
        PUBLIC_URL: 'https://wallet.test',
        AUTH_SERVER_URL: 'https://auth.wallet.test/',
        HTTP_PORT: resourceHttp!,
        AUTH_GRPC_TARGET: `dns:///localhost:${authGrpc}`,
        AUTH_GRPC_TLS_CA_FILE: resourceTls.authority,
        AUTH_GRPC_TLS_CERTIFICATE_FILE: resourceTls.certificate,
        AUTH_GRPC_TLS_KEY_FILE: resourceTls.key,
        SHARED_SECRET_KEY: randomBytes(24).toString('base64'),
        DATABASE_URL: databases[1]!.url,
        ...(redis === undefined ? {} : { REDIS_URL: redis, REPLICA_COUNT: '2' })
      }
    },
    async remove() {
      await rm(folder, { recursive: true })
      for (const database of databases) await database.drop()
    }
  }
}

/** An empty database with a random password, because production refuses common ones. */
async function createEmptyDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const adminUrl = process.env.TEST_POSTGRES_URL
  if (adminUrl === undefined) throw new Error('TEST_POSTGRES_URL is not set: run the tests through jest')
  const name = `image_${randomBytes(8).toString('hex')}`
  const admin = async (statement: string) => {
    const client = new pg.Client({ connectionString: adminUrl })
    await client.connect()
    await client.query(statement).finally(() => client.end())
  }
  await admin(`create database ${name}`)
  const url = new URL(adminUrl)
  url.pathname = name
  return { url: url.href, drop: () => admin(`drop database ${name} with (force)`) }
}
