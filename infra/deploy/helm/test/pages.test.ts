import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import {
  containerOf,
  findObject,
  type KubernetesObject,
  parseObjects,
  type PodTemplate,
  Traffic,
  type Workload
} from '@open-payments-server/kubernetes'
import { loadConfig } from '@open-payments-server/web/config'
import { BASE } from '../src/index.js'
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
    const set = environmentOf(parseObjects(await readFile(BASE, 'utf8')), 'web')
    expect(Object.keys(environment).sort()).toEqual([...Object.keys(set), ...GIVEN].sort())
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

  it('may pass on what operators do with a console alone, and do nothing by themselves', async () => {
    const [operator, pages] = ['operator', 'web'].map((name) => `spiffe://open-payments/${name}`)
    for (const [given, clients] of [
      [{}, operator],
      [{ web: { enabled: true } }, operator],
      [{ web: { settings: CONSOLE } }, operator],
      [WITH_PAGES, `${operator},${pages}`]
    ] as const) {
      for (const name of ['auth-server', 'resource-server']) {
        const { GRPC_OPERATOR_CLIENTS, OPERATOR_MACHINES } = environmentOf(await chart.objects(given), name)
        expect([GRPC_OPERATOR_CLIENTS, OPERATOR_MACHINES?.split('=')[0]]).toEqual([clients, operator])
      }
    }
  })

  it('leave no machine that acts where people sign in, unless it is named', async () => {
    const machinesOf = async (values: object) =>
      environmentOf(await chart.objects({ resourceServer: values }), 'resource-server').OPERATOR_MACHINES
    const [name, OPERATOR_ISSUERS] = ['spiffe://open-payments/operator', '[]']
    expect(await machinesOf({})).toBe(`${name}=operator+approver`)
    expect(await machinesOf({ settings: { OPERATOR_ISSUERS } })).toBe(`${name}=viewer`)
    const configMapKeyRef = { name: 'operators', key: 'issuers' }
    const extraEnv = [{ name: 'OPERATOR_ISSUERS', valueFrom: { configMapKeyRef } }]
    expect(await machinesOf({ extraEnv })).toBe(`${name}=viewer`)
    const OPERATOR_MACHINES = 'spiffe://open-payments/core=operator+unattended'
    expect(await machinesOf({ settings: { OPERATOR_ISSUERS, OPERATOR_MACHINES } })).toBe(OPERATOR_MACHINES)
  })

  it('have no console without its URL', async () => {
    const objects = await chart.objects({ web: { enabled: true } })
    expect(JSON.stringify(objects)).not.toMatch(/CONSOLE_|web-console/)
    expect(containerOf(findObject(objects, 'Deployment', 'web') as Workload).ports).toEqual([
      { name: 'http', containerPort: 3000 },
      { name: 'metrics', containerPort: 9464 }
    ])
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
    const issuer = [
      { to: [{ podSelector: { matchLabels: { app: 'login' } } }], ports: [{ protocol: 'TCP', port: 8443 }] }
    ]
    const within = new Traffic(await chart.objects({ ...WITH_PAGES, networkPolicies: { issuer } }), NAMESPACE)
    for (const from of [pages, auth, resource]) {
      expect(traffic.allows(from, { address: '192.0.2.30' }, 443)).toBe(true)
      expect(within.allows(from, elsewhere(NAMESPACE, { app: 'login' }), 8443)).toBe(true)
      expect(traffic.allows(from, elsewhere(NAMESPACE, { app: 'login' }), 8443)).toBe(false)
    }
    expect(traffic.allows(pages, { address: '192.0.2.10' }, 5432)).toBe(false)
    expect(traffic.allows(pages, { address: '203.0.113.5' }, 443)).toBe(false)
  })

  it('are asked by `helm test` whether they are ready', async () => {
    const asking = findObject(await chart.objects(WITH_PAGES), 'Pod', 'open-payments-test')
    const { args } = (asking as unknown as PodTemplate).spec.containers[0]!
    expect(args).toContain('http://web/readyz')
    const objects = await chart.objects(WITH_PAGES)
    const { labels } = (asking as unknown as PodTemplate).metadata
    const pages = (findObject(objects, 'Deployment', 'web') as Workload).spec.template.metadata
    const to = { namespace: NAMESPACE, labels: pages.labels }
    expect(new Traffic(objects, NAMESPACE).allows({ namespace: NAMESPACE, labels }, to, 3000)).toBe(true)
    expect(JSON.stringify(await chart.objects())).not.toContain('http://web/')
  })

  it('need a name of their own', async () => {
    const settings = { PUBLIC_URL: 'https://wallet.example' }
    const given = { web: { enabled: true, settings }, ingress: { enabled: true } }
    expect(await chart.refusal(given)).toContain('web and a service have the same PUBLIC_URL, wallet.example')
  })
})
