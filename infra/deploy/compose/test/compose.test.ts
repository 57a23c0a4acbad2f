import { execFile, spawnSync } from 'node:child_process'
import { createPrivateKey, createPublicKey, type JsonWebKey, X509Certificate } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from '@jest/globals'
import * as authServer from '@open-payments-server/auth-server'
import { authServerSchema } from '@open-payments-server/auth-server/config'
import { issuerOptionsSchema, OPTIONS_VARIABLE } from '@open-payments-server/development-issuer/options'
import * as resourceServer from '@open-payments-server/resource-server'
import { resourceServerSchema } from '@open-payments-server/resource-server/config'
import { loadConfig as loadPages, webSchema } from '@open-payments-server/web/config'
import { refuseUnsafeStart as refuseUnsafePages } from '@open-payments-server/web/refuse-unsafe-start'
import { parse } from 'yaml'

interface ComposeService {
  readonly image: string
  readonly build?: { readonly args: { readonly PROGRAM: string } }
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
}

const FOLDER = fileURLToPath(new URL('../', import.meta.url))
const hasOpenssl = spawnSync('openssl', ['version']).status === 0
if (!hasOpenssl) console.log('skipped: openssl is not installed, so no certificates can be made')
const hasPromtool = spawnSync('promtool', ['--version']).status === 0
if (!hasPromtool)
  console.log('skipped: promtool is not installed, so that Prometheus does not read its settings')

let services: Record<string, ComposeService>

const read = (path: string) => readFile(join(FOLDER, path), 'utf8')
const settingsOf = (name: string) => services[name]!.environment!

beforeAll(async () => {
  const document = parse(await read('compose.yaml'), { merge: true })
  services = document.services
})

describe('compose', () => {
  it('has settings with which both services and the pages start, and both services migrate', () => {
    const [auth, resource] = [settingsOf('auth-server'), settingsOf('resource-server')]
    expect(() => authServer.refuseUnsafeStart(authServer.loadConfig(auth))).not.toThrow()
    expect(() => resourceServer.refuseUnsafeStart(resourceServer.loadConfig(resource))).not.toThrow()
    expect(() => refuseUnsafePages(loadPages(settingsOf('web')))).not.toThrow()
    expect(settingsOf('auth-server-migration')).toEqual(auth)
    expect(settingsOf('resource-server-migration')).toEqual(resource)
    expect(resource.AUTH_SERVER_URL).toBe(auth.PUBLIC_URL)
  })

  it('has only known settings', () => {
    const known = (schema: { shape: object }) => Object.keys(schema.shape)
    expect(known(authServerSchema)).toEqual(expect.arrayContaining(Object.keys(settingsOf('auth-server'))))
    expect(known(resourceServerSchema)).toEqual(
      expect.arrayContaining(Object.keys(settingsOf('resource-server')))
    )
    expect(known(webSchema)).toEqual(expect.arrayContaining(Object.keys(settingsOf('web'))))
  })

  it('leads account holders to their pages, and these to both services', () => {
    const [auth, resource] = [settingsOf('auth-server'), settingsOf('resource-server')]
    const pages = settingsOf('web')
    expect(auth.CONSENT_PAGE_URL).toBe(`${pages.PUBLIC_URL}/consent`)
    expect(pages.IDENTITY_PROVIDER_SECRET).toBe(auth.IDENTITY_PROVIDER_SECRET)
    expect(pages.AUTH_API_URL).toBe(
      `http://auth-server:${authServer.loadConfig(auth).IDENTITY_PROVIDER_PORT}`
    )
    expect(pages.AUTH_GRPC_TARGET).toBe(`dns:///auth-server:${authServer.loadConfig(auth).GRPC_PORT}`)
    expect(pages.RESOURCE_GRPC_TARGET).toBe(
      `dns:///resource-server:${resourceServer.loadConfig(resource).GRPC_PORT}`
    )
    for (const [name, port] of [
      ['PUBLIC_URL', 'HTTP_PORT'],
      ['CONSOLE_URL', 'CONSOLE_PORT']
    ] as const) {
      expect(pages[name]).toBe(`http://localhost:${pages[port]}`)
      expect(services.web!.ports).toContain(`127.0.0.1:${pages[port]}:${pages[port]}`)
    }
  })

  it('has an issuer that signs in to the pages and the console, and whose word counts', () => {
    const [auth, resource, pages] = ['auth-server', 'resource-server', 'web'].map(settingsOf)
    const options = JSON.parse(settingsOf('development-issuer')[OPTIONS_VARIABLE]!) as unknown
    const { url, port, host, clients, people } = issuerOptionsSchema.parse(options)
    expect({ url, host }).toEqual({ url: `http://development-issuer:${port}`, host: '0.0.0.0' })
    expect(services['development-issuer']!.ports).toEqual([`127.0.0.1:${port}:${port}`])
    expect(pages!.ISSUER).toBe(url)
    expect(clients).toEqual([
      {
        clientId: pages!.CLIENT_ID,
        clientSecret: pages!.CLIENT_SECRET,
        redirectUris: [`${pages!.PUBLIC_URL}/signed-in`],
        postLogoutRedirectUris: [`${pages!.PUBLIC_URL}/signed-out`]
      },
      {
        clientId: pages!.CONSOLE_CLIENT_ID,
        clientSecret: pages!.CONSOLE_CLIENT_SECRET,
        redirectUris: [`${pages!.CONSOLE_URL}/signed-in`],
        postLogoutRedirectUris: [`${pages!.CONSOLE_URL}/signed-out`]
      }
    ])
    expect(auth!.CONSENT_ISSUERS).toBe(`${pages!.CLIENT_ID}@${url}`)
    for (const { OPERATOR_ISSUERS: given } of [auth!, resource!]) {
      expect(JSON.parse(given!)).toMatchObject([
        { issuer: url, clientIds: [pages!.CONSOLE_CLIENT_ID], rolesClaim: 'roles' }
      ])
    }
    expect(people.filter(({ roles }) => roles !== undefined).map(({ username }) => username)).toEqual([
      'operator'
    ])
  })

  it('states who holds a wallet with a key that the auth server knows', () => {
    const keysOf = (text: string) => (JSON.parse(text) as { keys: JsonWebKey[] }).keys
    const signing = keysOf(settingsOf('resource-server').OWNERSHIP_KEYS!)
    const published = keysOf(settingsOf('auth-server').OWNERSHIP_PUBLIC_KEYS!)
    expect(signing.map(({ d: _private, ...shown }) => shown)).toEqual(published)
    const pair = createPrivateKey({ key: signing[0]!, format: 'jwk' })
    expect(published).toEqual([expect.objectContaining(createPublicKey(pair).export({ format: 'jwk' }))])
  })

  it('runs what is ours read-only, without capabilities and without ways to more', () => {
    const ours = Object.entries(services).filter(([, { build }]) => build !== undefined)
    expect(ours.map(([name]) => name)).toEqual([
      'auth-server',
      'auth-server-migration',
      'resource-server',
      'resource-server-migration',
      'web',
      'development-issuer'
    ])
    for (const [, service] of ours) {
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true']
      })
      expect(service.image).toBe(`${service.build!.args.PROGRAM}:development`)
    }
  })

  it('opens no port to other machines, and names every image by a version', () => {
    for (const { image, ports = [] } of Object.values(services)) {
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/)
      expect(image).toMatch(/:(?!latest)[\w.-]+$/)
    }
  })

  it('mounts existing files, and scrapes the metrics ports', async () => {
    const mounted = Object.values(services)
      .flatMap(({ volumes = [] }) => volumes.map((volume) => volume.split(':')[0]!))
      .filter((path) => /^\.\/.+\.\w+$/.test(path))
    expect(mounted).toEqual(
      expect.arrayContaining(['./certificates.sh', './databases.sql', './prometheus.yaml'])
    )
    for (const path of mounted) expect((await read(path)).length).toBeGreaterThan(0)

    // The rules and the dashboards: the folders of both are mounted.
    const folders = Object.values(services).flatMap(({ volumes = [] }) =>
      volumes.filter((volume) => volume.startsWith('../')).map((volume) => volume.split(':')[0]!)
    )
    expect(folders.sort()).toEqual(['../helm/open-payments/rules', '../observability/dashboards'])
    for (const folder of folders) expect((await readdir(join(FOLDER, folder))).length).toBeGreaterThan(0)

    const { scrape_configs: scraped, rule_files: rules } = parse(await read('prometheus.yaml'))
    expect(rules).toEqual(['/etc/prometheus/rules/*.yaml'])
    for (const name of ['auth-server', 'resource-server', 'web']) {
      expect(scraped).toContainEqual({
        job_name: name,
        static_configs: [{ targets: [`${name}:${settingsOf(name).METRICS_PORT}`] }]
      })
    }
  })

  const itWithPromtool = hasPromtool ? it : it.skip
  itWithPromtool('has settings that Prometheus takes, with the rules where it finds them', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'compose-prometheus-'))
    try {
      const rules = services.prometheus!.volumes!.find((volume) => volume.includes('/etc/prometheus/rules'))!
      const [source = '', inside = ''] = rules.split(':')
      const settings = (await read('prometheus.yaml')).replace(inside, join(FOLDER, source))
      await writeFile(join(folder, 'prometheus.yml'), settings)
      const { stdout } = await promisify(execFile)('promtool', [
        'check',
        'config',
        join(folder, 'prometheus.yml')
      ])
      expect(stdout).toContain('SUCCESS: 1 rule files found')
      expect(stdout).toMatch(/SUCCESS: \d+ rules found/)
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  const itWithOpenssl = hasOpenssl ? it : it.skip
  itWithOpenssl('makes certificates with the names that the services are told to let in, once', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'compose-certificates-'))
    try {
      const make = () => promisify(execFile)('sh', [join(FOLDER, 'certificates.sh'), folder])
      const certificate = async (path: string) => new X509Certificate(await readFile(join(folder, path)))
      await make()
      const first = await certificate('operator/tls.crt')
      await make()
      expect((await certificate('operator/tls.crt')).fingerprint256).toBe(first.fingerprint256)

      // One that a later version added is made by the same authority, and the others stay.
      const authorityBefore = (await certificate('authority/tls.crt')).fingerprint256
      await rm(join(folder, 'web'), { recursive: true })
      await make()
      expect((await certificate('authority/tls.crt')).fingerprint256).toBe(authorityBefore)
      expect((await certificate('operator/tls.crt')).fingerprint256).toBe(first.fingerprint256)

      const [auth, resource] = [settingsOf('auth-server'), settingsOf('resource-server')]
      const namesOf = async (name: string) =>
        (await certificate(`${name}/tls.crt`)).subjectAltName?.split(', ')
      expect(await namesOf('resource-server')).toContain(`URI:${auth.GRPC_INTROSPECTION_CLIENTS}`)
      expect(await namesOf('resource-server')).toContain(`URI:${auth.GRPC_LIMITS_CLIENTS}`)
      const uris = async (...names: string[]) =>
        (await Promise.all(names.map(namesOf))).map((all) => all?.[0]?.replace('URI:', '')).join()
      for (const service of [auth, resource]) {
        expect(service.GRPC_OPERATOR_CLIENTS).toBe(await uris('operator', 'web'))
        expect(service.GRPC_HOLDER_CLIENTS).toBe(await uris('web'))
        // The console does nothing without a person's token.
        expect(service.OPERATOR_MACHINES).toBe(`${await uris('operator')}=operator+approver`)
      }
      for (const [target, name] of [
        [resource.AUTH_GRPC_TARGET, 'auth-server'],
        [settingsOf('web').AUTH_GRPC_TARGET, 'auth-server'],
        [settingsOf('web').RESOURCE_GRPC_TARGET, 'resource-server']
      ] as const) {
        const { hostname } = new URL(target!.replace('dns:///', 'grpc://'))
        expect(await namesOf(name)).toContain(`DNS:${hostname}`)
      }
      const authority = await certificate('auth-server/ca.crt')
      for (const name of ['auth-server', 'resource-server', 'web', 'operator']) {
        expect((await certificate(`${name}/tls.crt`)).verify(authority.publicKey)).toBe(true)
      }
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
