import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import {
  containerOf,
  findObject,
  type KubernetesObject,
  Traffic,
  type Workload
} from '@open-payments-server/kubernetes'
import { loadConfig } from '@open-payments-server/web/config'
import { SET_OF_PAGES } from '../src/index.js'
import { describeWithEachHelm, NAMESPACE } from './rendering.js'

const CONSOLE = { CONSOLE_URL: 'https://console.wallet.internal', CONSOLE_CLIENT_ID: 'console' }
const WITH_PAGES = { web: { enabled: true, settings: CONSOLE } }
/** Settings that the values give. */
const GIVEN = ['CLIENT_ID', 'ISSUER', 'PUBLIC_URL', 'TRUSTED_PROXIES', ...Object.keys(CONSOLE)]
const PORTS = [3000, 3001, 3002, 3010, 9464]

describeWithEachHelm('the pages in the chart', (chart) => {
  const environmentOf = (objects: readonly KubernetesObject[], name: string): Record<string, string> => {
    const { env = [] } = containerOf(findObject(objects, 'Deployment', name) as Workload)
    return Object.fromEntries(env.map((variable) => [variable.name, variable.value ?? '']))
  }

  it('have all settings that they need, and the templates set what the values do not offer', async () => {
    const environment = environmentOf(await chart.objects(WITH_PAGES), 'web')
    expect(Object.keys(environment).sort()).toEqual([...SET_OF_PAGES, ...GIVEN].sort())
    const folder = await mkdtemp(join(tmpdir(), 'mounted-secrets-'))
    try {
      for (const [name, path] of Object.entries(environment)) {
        if (!path.startsWith('/run/secrets/service/')) continue
        environment[name] = join(folder, name)
        const isRedis = name === 'REDIS_URL_FILE'
        await writeFile(
          environment[name],
          isRedis ? 'rediss://:kT5wPz8XcQ@redis.example:6379' : `${name}-hG7tYw3KdM`
        )
      }
      const config = loadConfig(environment)
      expect(config).toMatchObject({
        ENVIRONMENT: 'production',
        HTTP_PORT: 3000,
        CONSOLE_PORT: 3010,
        METRICS_PORT: 9464,
        REPLICA_COUNT: 6
      })
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('are known to both services by their certificate, unless another list is given', async () => {
    const objects = await chart.objects({
      ...WITH_PAGES,
      resourceServer: { settings: { GRPC_HOLDER_CLIENTS: 'spiffe://other/pages' } }
    })
    const { uris } = findObject(objects, 'Certificate', 'web-grpc').spec as { uris: string[] }
    expect(environmentOf(objects, 'auth-server').GRPC_HOLDER_CLIENTS).toBe(uris.join())
    expect(environmentOf(objects, 'resource-server').GRPC_HOLDER_CLIENTS).toBe('spiffe://other/pages')
    expect(environmentOf(await chart.objects(), 'auth-server')).not.toHaveProperty('GRPC_HOLDER_CLIENTS')
  })

  it('are let in from outside for account holders alone', async () => {
    const objects = await chart.objects({ ...WITH_PAGES, ingress: { enabled: true } })
    expect(findObject(objects, 'Ingress', 'web').spec).toMatchObject({
      tls: [{ hosts: ['pages.wallet.example'], secretName: 'web-tls' }],
      rules: [{ http: { paths: [{ backend: { service: { name: 'web', port: { number: 80 } } } }] } }]
    })
    const { ports } = findObject(objects, 'Service', 'web').spec as { ports: unknown }
    expect(ports).toEqual([{ name: 'http', port: 80, targetPort: 'http' }])
    expect(JSON.stringify(objects.filter(({ kind }) => kind === 'Ingress'))).not.toContain('console')
  })

  it('are reached by those who may, and reach what they ask and nothing else', async () => {
    const objects = await chart.objects(WITH_PAGES)
    const traffic = new Traffic(objects, NAMESPACE)
    const podOf = (name: string) => {
      const deployment = findObject(objects, 'Deployment', name) as Workload
      const ports = (containerOf(deployment).ports ?? []).map((each) => [each.name, each.containerPort])
      return {
        namespace: NAMESPACE,
        labels: deployment.spec.template.metadata.labels,
        ports: Object.fromEntries(ports) as Record<string, number>
      }
    }
    const [pages, auth, resource] = ['web', 'auth-server', 'resource-server'].map(podOf)
    if (pages === undefined || auth === undefined || resource === undefined)
      throw new Error('a pod is missing')
    const elsewhere = (namespace: string, labels: Record<string, string> = {}) => ({ namespace, labels })
    const portsFor = (from: Parameters<Traffic['allows']>[0], to: typeof pages) =>
      PORTS.filter((port) => traffic.allows(from, to, port))
    expect(traffic.isIsolated(pages)).toBe(true)
    expect(portsFor(elsewhere('ingress-nginx'), pages)).toEqual([3000])
    expect(portsFor(elsewhere('monitoring', { 'app.kubernetes.io/name': 'prometheus' }), pages)).toEqual([
      9464
    ])
    expect(portsFor(elsewhere(NAMESPACE, { 'open-payments/access': 'console' }), pages)).toEqual([3010])
    for (const stranger of [elsewhere(NAMESPACE), elsewhere('default'), auth, resource])
      expect(portsFor(stranger, pages)).toEqual([])
    expect(portsFor(pages, auth)).toEqual([3001, 3002])
    expect(portsFor(pages, resource)).toEqual([3002])
    expect(traffic.allows(pages, { address: '192.0.2.20' }, 6379)).toBe(true)
    expect(traffic.allows(pages, { address: '192.0.2.30' }, 443)).toBe(true)
    expect(traffic.allows(pages, { address: '192.0.2.10' }, 5432)).toBe(false)
    expect(traffic.allows(pages, { address: '203.0.113.5' }, 443)).toBe(false)
  })

  it('need a name of their own', async () => {
    const settings = { PUBLIC_URL: 'https://wallet.example' }
    const given = { web: { enabled: true, settings }, ingress: { enabled: true } }
    expect(await chart.refusal(given)).toContain('web and a service have the same PUBLIC_URL, wallet.example')
  })
})
