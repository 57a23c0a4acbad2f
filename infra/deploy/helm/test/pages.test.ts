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
import { refuseUnsafeStart } from '@open-payments-server/web/refuse-unsafe-start'
import { BASE } from '../src/index.js'
import { describeWithEachHelm, NAMESPACE } from './rendering.js'
import { CONSOLE, PAGES, PROVING } from './samples.js'

const BOTH = { ...PAGES, ...CONSOLE }
/** Settings that the values give. */
const GIVEN = {
  web: ['CLIENT_ID', 'ISSUER', 'PUBLIC_URL', 'TRUSTED_PROXIES'],
  console: ['CONSOLE_CLIENT_ID', 'CONSOLE_URL', 'ISSUER', 'TRUSTED_PROXIES']
} as const
/** The ports on which each listens. */
const LISTENING = {
  web: { HTTP_PORT: 3000 },
  console: { CONSOLE_PORT: 3010 }
} as const
const NAMES = ['web', 'console'] as const
const PORTS = [3000, 3001, 3002, 3010, 9464]

describeWithEachHelm('the pages in the chart', (chart) => {
  const environmentOf = (objects: readonly KubernetesObject[], name: string): Record<string, string> => {
    const { env = [] } = containerOf(findObject(objects, 'Deployment', name) as Workload)
    return Object.fromEntries(env.map((variable) => [variable.name, variable.value ?? '']))
  }

  it.each(NAMES)(
    'have all settings that %s needs, and the templates set what the values do not offer',
    async (name) => {
      const environment = environmentOf(await chart.objects(BOTH), name)
      const set = environmentOf(parseObjects(await readFile(BASE, 'utf8')), name)
      expect(Object.keys(environment).sort()).toEqual([...Object.keys(set), ...GIVEN[name]].sort())
      const folder = await mkdtemp(join(tmpdir(), 'mounted-secrets-'))
      try {
        for (const [setting, path] of Object.entries(environment)) {
          if (!path.startsWith('/run/secrets/service/')) continue
          environment[setting] = join(folder, setting)
          const isRedis = setting === 'REDIS_URL_FILE'
          await writeFile(
            environment[setting],
            isRedis ? 'rediss://:kT5wPz8XcQ@redis.example:6379' : `${setting}-hG7tYw3KdM`
          )
        }
        const config = loadConfig(environment)
        expect(config).toMatchObject({ ENVIRONMENT: 'production', METRICS_PORT: 9464, ...LISTENING[name] })
        expect(config.REPLICA_COUNT).toBeGreaterThan(1)
        expect(() => {
          refuseUnsafeStart(config)
        }).not.toThrow()
      } finally {
        await rm(folder, { recursive: true })
      }
    }
  )

  it('are known to both services by their certificate, unless another list is given', async () => {
    const objects = await chart.objects({
      ...PAGES,
      resourceServer: { settings: { GRPC_HOLDER_CLIENTS: 'spiffe://other/pages' } }
    })
    const { uris } = findObject(objects, 'Certificate', 'web-grpc').spec as { uris: string[] }
    expect(environmentOf(objects, 'auth-server').GRPC_HOLDER_CLIENTS).toBe(uris.join())
    expect(environmentOf(objects, 'resource-server').GRPC_HOLDER_CLIENTS).toBe('spiffe://other/pages')
    expect(environmentOf(await chart.objects(), 'auth-server')).not.toHaveProperty('GRPC_HOLDER_CLIENTS')
  })

  it('act for account holders with one certificate, and for operators with another, of the console', async () => {
    const [operator, pages, console] = ['operator', 'web', 'console'].map(
      (name) => `spiffe://open-payments/${name}`
    )
    for (const [given, clients, holders] of [
      [{}, operator, undefined],
      [PAGES, operator, pages],
      [CONSOLE, `${operator},${console}`, undefined],
      [BOTH, `${operator},${console}`, pages]
    ] as const) {
      const objects = await chart.objects(given)
      for (const name of ['auth-server', 'resource-server']) {
        const environment = environmentOf(objects, name)
        expect(environment.GRPC_OPERATOR_CLIENTS).toBe(clients)
        expect(environment.GRPC_HOLDER_CLIENTS).toBe(holders)
        expect(environment.OPERATOR_MACHINES?.split('=')[0]).toBe(operator)
      }
    }
    const certificate = findObject(await chart.objects(BOTH), 'Certificate', 'console-grpc')
    expect(certificate.spec).toMatchObject({ secretName: 'console-grpc', uris: [console] })
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

  it('have no console unless it is wanted, and then apart: other pods, secrets and settings', async () => {
    const objects = await chart.objects(PAGES)
    expect(JSON.stringify(objects)).not.toMatch(/CONSOLE_|"console/)
    const both = await chart.objects(BOTH)
    const keptOf = (all: readonly KubernetesObject[]) => {
      const { spec } = findObject(all, 'Deployment', 'web') as Workload
      return spec.template
    }
    expect(keptOf(both)).toEqual(keptOf(objects))
    const { volumes = [] } = (findObject(both, 'Deployment', 'console') as Workload).spec.template.spec
    expect(volumes.map(({ secret }) => secret?.secretName)).toEqual(['console', 'console-grpc'])
    const settings = { CONSOLE_URL: 'https://console.wallet.internal' }
    expect(await chart.refusal({ ...PAGES, web: { enabled: true, settings } })).toContain('CONSOLE_URL')
    for (const name of ['PUBLIC_URL', 'IDENTITY_PROVIDER_SECRET_FILE', 'AUTH_API_URL']) {
      const value = '/run/secrets/service/value'
      expect(await chart.refusal({ console: { settings: { [name]: value } } })).toContain(name)
    }
    const extraEnv = [{ name: 'PUBLIC_URL', value: 'https://pages.wallet.example' }]
    expect(await chart.refusal({ console: { extraEnv } })).toContain('extraEnv')
  })

  it('have consent proved: where the auth server takes the word of pages, they are refused', async () => {
    const refusalOf = (authServer: object) => chart.refusal({ web: { enabled: true }, authServer })
    const said = 'authServer.settings.CONSENT_PROOF: with the pages of `web` it must be required'
    expect(await refusalOf({})).toContain(said)
    const extraEnv = [{ name: 'CONSENT_PROOF', value: 'none' }]
    expect(await refusalOf({ settings: { CONSENT_PROOF: null }, extraEnv })).toContain(said)
    expect(await refusalOf({ settings: PROVING })).toBe('nothing was refused')
    // Other pages may have no issuer that proves anything, and an operator consents to nothing.
    expect(await chart.refusal(CONSOLE)).toBe('nothing was refused')
  })

  it('are let in from outside for account holders alone', async () => {
    const objects = await chart.objects({ ...BOTH, ingress: { enabled: true } })
    expect(findObject(objects, 'Ingress', 'web').spec).toMatchObject({
      tls: [{ hosts: ['pages.wallet.example'], secretName: 'web-tls' }],
      rules: [{ http: { paths: [{ backend: { service: { name: 'web', port: { number: 80 } } } }] } }]
    })
    const { ports } = findObject(objects, 'Service', 'web').spec as { ports: unknown }
    expect(ports).toEqual([{ name: 'http', port: 80, targetPort: 'http' }])
    expect(JSON.stringify(objects.filter(({ kind }) => kind === 'Ingress'))).not.toContain('console')
  })

  it('are reached by those who may, and reach what they ask and nothing else', async () => {
    const objects = await chart.objects(BOTH)
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
    const [pages, console] = [podOf('web'), podOf('console')]
    const [auth, resource] = [podOf('auth-server'), podOf('resource-server')]
    const elsewhere = (namespace: string, labels: Record<string, string> = {}) => ({ namespace, labels })
    const portsFor = (from: Parameters<Traffic['allows']>[0], to: typeof pages) =>
      PORTS.filter((port) => traffic.allows(from, to, port))
    const operators = elsewhere(NAMESPACE, { 'open-payments/access': 'console' })
    const prometheus = elsewhere('monitoring', { 'app.kubernetes.io/name': 'prometheus' })
    expect([pages, console].map((pod) => traffic.isIsolated(pod))).toEqual([true, true])
    const reachedBy = (from: Parameters<Traffic['allows']>[0]) => [
      portsFor(from, pages),
      portsFor(from, console)
    ]
    expect(reachedBy(elsewhere('ingress-nginx'))).toEqual([[3000], []])
    expect(reachedBy(prometheus)).toEqual([[9464], [9464]])
    expect(reachedBy(operators)).toEqual([[], [3010]])
    for (const stranger of [elsewhere(NAMESPACE), elsewhere('default'), auth, resource, pages, console])
      expect(reachedBy(stranger)).toEqual([[], []])
    expect([portsFor(pages, auth), portsFor(console, auth)]).toEqual([[3001, 3002], [3002]])
    expect([portsFor(pages, resource), portsFor(console, resource)]).toEqual([[3002], [3002]])
    const issuer = [
      { to: [{ podSelector: { matchLabels: { app: 'login' } } }], ports: [{ protocol: 'TCP', port: 8443 }] }
    ]
    const within = new Traffic(await chart.objects({ ...BOTH, networkPolicies: { issuer } }), NAMESPACE)
    for (const from of [pages, console, auth, resource]) {
      expect(traffic.allows(from, { address: '192.0.2.30' }, 443)).toBe(true)
      expect(within.allows(from, elsewhere(NAMESPACE, { app: 'login' }), 8443)).toBe(true)
      expect(traffic.allows(from, elsewhere(NAMESPACE, { app: 'login' }), 8443)).toBe(false)
    }
    for (const from of [pages, console]) {
      expect(traffic.allows(from, { address: '192.0.2.20' }, 6379)).toBe(true)
      expect(traffic.allows(from, { address: '192.0.2.10' }, 5432)).toBe(false)
      expect(traffic.allows(from, { address: '203.0.113.5' }, 443)).toBe(false)
    }
  })

  it('are asked by `helm test` whether they are ready', async () => {
    const objects = await chart.objects(BOTH)
    const { metadata, spec } = findObject(objects, 'Pod', 'open-payments-test') as unknown as PodTemplate
    const traffic = new Traffic(objects, NAMESPACE)
    for (const [name, port] of [
      ['web', 3000],
      ['console', 3010]
    ] as const) {
      expect(spec.containers[0]!.args).toContain(`http://${name}/readyz`)
      const { labels } = (findObject(objects, 'Deployment', name) as Workload).spec.template.metadata
      const [from, to] = [metadata.labels, labels].map((each) => ({ namespace: NAMESPACE, labels: each }))
      expect(traffic.allows(from!, to!, port)).toBe(true)
    }
    expect(JSON.stringify(await chart.objects())).not.toMatch(/http:\/\/(web|console)\//)
  })

  it('need a name of their own', async () => {
    const settings = { PUBLIC_URL: 'https://wallet.example' }
    const given = { ...PAGES, web: { enabled: true, settings }, ingress: { enabled: true } }
    expect(await chart.refusal(given)).toContain('web and a service have the same PUBLIC_URL, wallet.example')
  })
})
