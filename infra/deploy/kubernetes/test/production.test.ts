import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { parse, stringify } from 'yaml'
import {
  findObject,
  type KubernetesObject,
  overlayFolder,
  renderFolder,
  Traffic,
  type Workload,
  workloadsOf
} from '../src/index.js'
import {
  deploymentsOf,
  describeRendered,
  environmentOf,
  KUBECTL,
  NAMES,
  podOf,
  renderBefore,
  servicesOf,
  WITH_DATABASE,
  workload
} from './overlays.js'
import type { ServiceName } from './starting.js'

const objectsOf = renderBefore('production')

describeRendered('production', () => {
  const objects = () => objectsOf('production')

  it('contains no secret, and enforces the restricted pod security standard', () => {
    expect(objects().filter(({ kind }) => kind === 'Secret')).toEqual([])
    expect(findObject(objects(), 'Namespace', 'open-payments').metadata.labels).toMatchObject({
      'pod-security.kubernetes.io/enforce': 'restricted'
    })
  })

  it('runs at least two of each, disrupts at most one, and tells the services the maximum', () => {
    for (const [name, deployment] of deploymentsOf(objects())) {
      const { minReplicas, maxReplicas } = findObject(objects(), 'HorizontalPodAutoscaler', name).spec as {
        minReplicas: number
        maxReplicas: number
      }
      expect(minReplicas).toBeGreaterThanOrEqual(2)
      expect(environmentOf(deployment).REPLICA_COUNT).toBe(String(maxReplicas))
      expect(deployment.spec).not.toHaveProperty('replicas')
      expect(deployment.spec).toMatchObject({ strategy: { rollingUpdate: { maxUnavailable: 0 } } })
      expect(findObject(objects(), 'PodDisruptionBudget', name).spec).toMatchObject({ maxUnavailable: 1 })
      expect(deployment.spec.template.spec.topologySpreadConstraints).toHaveLength(2)
    }
  })

  it('leaves out the pages by the patch of the documentation, and nothing else', async () => {
    const page = await readFile(new URL('../../../../docs/operations.md', import.meta.url), 'utf8')
    const [, patches] = /^```yaml\n(- target:\n {4}labelSelector:[^`]*)^```$/m.exec(page) ?? []
    // kustomize takes no absolute paths.
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'overlay-')))
    try {
      const resources = [relative(folder, await realpath(overlayFolder('production')))]
      await writeFile(
        join(folder, 'kustomization.yaml'),
        stringify({ kind: 'Kustomization', resources, patches: parse(patches!) as unknown })
      )
      const keysOf = (all: readonly KubernetesObject[]) =>
        all.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort()
      const left = keysOf(await renderFolder(folder, KUBECTL))
      expect(keysOf(objects()).filter((key) => !left.includes(key))).toEqual(
        ['console', 'web']
          .flatMap((name) => [
            `Certificate ${name}-grpc`,
            `Deployment ${name}`,
            `HorizontalPodAutoscaler ${name}`,
            `NetworkPolicy ${name}`,
            `NetworkPolicy auth-server-${name}`,
            `NetworkPolicy resource-server-${name}`,
            `PodDisruptionBudget ${name}`,
            `Service ${name}`,
            `Service ${name}-metrics`,
            `ServiceAccount ${name}`
          ])
          .sort()
      )
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('migrates before anything else, with Argo CD and with Helm', () => {
    for (const [, , job] of servicesOf(objects())) {
      expect(job.metadata.annotations).toMatchObject({
        'argocd.argoproj.io/hook': 'PreSync',
        'helm.sh/hook': 'pre-install,pre-upgrade'
      })
    }
  })

  it('is watched: the ServiceMonitor finds a metrics port of each service and of the pages', () => {
    const { spec } = findObject(objects(), 'ServiceMonitor', 'open-payments')
    const { selector } = spec as { selector: { matchLabels: Record<string, string> } }
    const found = objects().filter(
      ({ kind, metadata }) =>
        kind === 'Service' &&
        Object.entries(selector.matchLabels).every(([key, value]) => metadata.labels?.[key] === value)
    )
    expect(found.map(({ metadata }) => metadata.name)).toEqual([
      'auth-server-metrics',
      'console-metrics',
      'resource-server-metrics',
      'web-metrics'
    ])
    for (const each of found)
      expect(each.spec).toMatchObject({ ports: [{ name: 'metrics', targetPort: 'metrics' }] })
  })

  describe('its network policies', () => {
    const namespace = 'open-payments'
    const traffic = () => new Traffic(objects(), namespace)
    const pod = (of: Workload) => podOf(of, namespace)
    const server = (name: ServiceName) => pod(workload(objects(), 'Deployment', name))
    const migration = (name: (typeof WITH_DATABASE)[number]) =>
      pod(workload(objects(), 'Job', `${name}-migration`))
    const elsewhere = (inNamespace: string, labels: Record<string, string> = {}) => ({
      namespace: inNamespace,
      labels
    })

    const INGRESS = elsewhere('ingress-nginx')
    const PROMETHEUS = elsewhere('monitoring', { 'app.kubernetes.io/name': 'prometheus' })
    const OPERATOR = elsewhere(namespace, { 'open-payments/access': 'operator' })
    const IDENTITY_PROVIDER = elsewhere(namespace, { 'open-payments/access': 'identity-provider' })
    const CONSOLE = elsewhere(namespace, { 'open-payments/access': 'console' })
    const STRANGERS = [
      elsewhere(namespace),
      elsewhere('default'),
      elsewhere('monitoring'),
      elsewhere('default', { 'open-payments/access': 'operator' }),
      elsewhere('default', { 'open-payments/access': 'console' }),
      { address: '198.51.100.7' }
    ]
    const PORTS = [3000, 3001, 3002, 3010, 9464]
    const PAGES = ['web', 'console'] as const

    it('isolate every pod in both directions', () => {
      for (const each of workloadsOf(objects())) expect(traffic().isIsolated(pod(each))).toBe(true)
    })

    it('allow only the intended callers of a port', () => {
      const portsFor = (from: Parameters<Traffic['allows']>[0], name: ServiceName) =>
        PORTS.filter((port) => traffic().allows(from, server(name), port))
      expect(portsFor(INGRESS, 'web')).toEqual([3000])
      expect(portsFor(INGRESS, 'console')).toEqual([])
      expect(portsFor(CONSOLE, 'web')).toEqual([])
      expect(portsFor(CONSOLE, 'console')).toEqual([3010])
      for (const name of PAGES) expect(portsFor(PROMETHEUS, name)).toEqual([9464])
      expect(portsFor(server('web'), 'auth-server')).toEqual([3001, 3002])
      expect(portsFor(server('web'), 'resource-server')).toEqual([3002])
      for (const name of WITH_DATABASE) expect(portsFor(server('console'), name)).toEqual([3002])
      expect([portsFor(server('web'), 'console'), portsFor(server('console'), 'web')]).toEqual([[], []])
      for (const name of WITH_DATABASE) {
        expect(portsFor(CONSOLE, name)).toEqual([])
        for (const to of PAGES) {
          expect(portsFor(server(name), to)).toEqual([])
          expect(portsFor(migration(name), to)).toEqual([])
        }
      }
      for (const other of [OPERATOR, IDENTITY_PROVIDER])
        for (const name of PAGES) expect(portsFor(other, name)).toEqual([])
      expect(portsFor(INGRESS, 'auth-server')).toEqual([3000])
      expect(portsFor(INGRESS, 'resource-server')).toEqual([3000, 3010])
      expect(portsFor(PROMETHEUS, 'auth-server')).toEqual([9464])
      expect(portsFor(PROMETHEUS, 'resource-server')).toEqual([9464])
      expect(portsFor(OPERATOR, 'auth-server')).toEqual([3002])
      expect(portsFor(OPERATOR, 'resource-server')).toEqual([3002])
      expect(portsFor(IDENTITY_PROVIDER, 'auth-server')).toEqual([3001])
      expect(portsFor(IDENTITY_PROVIDER, 'resource-server')).toEqual([])
      expect(portsFor(server('resource-server'), 'auth-server')).toEqual([3002])
      expect(portsFor(server('auth-server'), 'resource-server')).toEqual([])
      for (const name of NAMES) {
        for (const stranger of STRANGERS) expect(portsFor(stranger, name)).toEqual([])
      }
      for (const name of WITH_DATABASE) expect(portsFor(migration(name), 'auth-server')).toEqual([])
    })

    it('allow egress to DNS and databases, and https to the internet from the services alone', () => {
      const [dns, postgresql, redis] = [
        elsewhere('kube-system', { 'k8s-app': 'kube-dns' }),
        { address: '192.0.2.10' },
        { address: '192.0.2.20' }
      ]
      for (const name of WITH_DATABASE) {
        for (const from of [server(name), migration(name)]) {
          expect(traffic().allows(from, dns, 53, 'UDP')).toBe(true)
          expect(traffic().allows(from, postgresql, 5432)).toBe(true)
          expect(traffic().allows(from, elsewhere('default'), 443)).toBe(false)
        }
        expect(traffic().allows(server(name), redis, 6379)).toBe(true)
        expect(traffic().allows(migration(name), redis, 6379)).toBe(false)
      }
      const internet = [{ address: '203.0.113.5' }, { address: '2600::5' }]
      for (const to of internet) {
        for (const name of WITH_DATABASE) {
          expect(traffic().allows(server(name), to, 443)).toBe(true)
          expect(traffic().allows(server(name), to, 80)).toBe(false)
          expect(traffic().allows(migration(name), to, 443)).toBe(false)
        }
      }
    })

    it.each(PAGES)('let %s out to DNS, Redis and the issuer alone, beside both services', (name) => {
      const pages = server(name)
      expect(traffic().allows(pages, elsewhere('kube-system', { 'k8s-app': 'kube-dns' }), 53, 'UDP')).toBe(
        true
      )
      expect(traffic().allows(pages, { address: '192.0.2.20' }, 6379)).toBe(true)
      expect(traffic().allows(pages, { address: '192.0.2.30' }, 443)).toBe(true)
      for (const [address, port] of [
        ['192.0.2.10', 5432],
        ['192.0.2.30', 80],
        ['203.0.113.5', 443],
        ['2600::5', 443],
        ['10.1.2.3', 443]
      ] as const)
        expect(traffic().allows(pages, { address }, port)).toBe(false)
      expect(traffic().allows(pages, elsewhere('default'), 443)).toBe(false)
    })

    it.each([
      '10.1.2.3',
      '172.16.0.1',
      '192.168.1.1',
      '169.254.169.254',
      '100.64.0.1',
      '127.0.0.1',
      'fd00::1',
      'fe80::1'
    ])('never let a service reach %s', (address) => {
      for (const name of NAMES) expect(traffic().allows(server(name), { address }, 443)).toBe(false)
    })
  })
})
