import { execFile, spawnSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from '@jest/globals'
import * as authServer from '@open-payments-server/auth-server'
import { authServerSchema } from '@open-payments-server/auth-server/config'
import * as resourceServer from '@open-payments-server/resource-server'
import { resourceServerSchema } from '@open-payments-server/resource-server/config'
import { parse } from 'yaml'

interface ComposeService {
  readonly image: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
}

const FOLDER = fileURLToPath(new URL('../', import.meta.url))
const hasOpenssl = spawnSync('openssl', ['version']).status === 0
if (!hasOpenssl) console.log('skipped: openssl is not installed, so no certificates can be made')

let services: Record<string, ComposeService>

const read = (path: string) => readFile(join(FOLDER, path), 'utf8')
const settingsOf = (name: string) => services[name]!.environment!

beforeAll(async () => {
  const document = parse(await read('compose.yaml'), { merge: true })
  services = document.services
})

describe('compose', () => {
  it('has settings with which both services start and migrate', () => {
    const [auth, resource] = [settingsOf('auth-server'), settingsOf('resource-server')]
    expect(() => authServer.refuseUnsafeStart(authServer.loadConfig(auth))).not.toThrow()
    expect(() => resourceServer.refuseUnsafeStart(resourceServer.loadConfig(resource))).not.toThrow()
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
    for (const name of ['auth-server', 'resource-server']) {
      expect(scraped).toContainEqual({
        job_name: name,
        static_configs: [{ targets: [`${name}:${settingsOf(name).METRICS_PORT}`] }]
      })
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

      const [auth, resource] = [settingsOf('auth-server'), settingsOf('resource-server')]
      const namesOf = async (name: string) =>
        (await certificate(`${name}/tls.crt`)).subjectAltName?.split(', ')
      expect(await namesOf('resource-server')).toContain(`URI:${auth.GRPC_INTROSPECTION_CLIENTS}`)
      expect(await namesOf('resource-server')).toContain(`URI:${auth.GRPC_LIMITS_CLIENTS}`)
      expect(await namesOf('operator')).toContain(`URI:${auth.GRPC_OPERATOR_CLIENTS}`)
      expect(await namesOf('operator')).toContain(`URI:${resource.GRPC_OPERATOR_CLIENTS}`)
      const { host } = new URL(resource.AUTH_GRPC_TARGET!.replace('dns:///', 'grpc://'))
      expect(await namesOf('auth-server')).toContain(`DNS:${host.split(':')[0]}`)
      const authority = await certificate('auth-server/ca.crt')
      for (const name of ['auth-server', 'resource-server', 'operator']) {
        expect((await certificate(`${name}/tls.crt`)).verify(authority.publicKey)).toBe(true)
      }
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
