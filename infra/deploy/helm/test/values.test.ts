import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from '@jest/globals'
import {
  type Container,
  containerOf,
  findObject,
  type KubernetesObject,
  type PodTemplate,
  podsOf,
  Traffic,
  type Workload
} from '@open-payments-server/kubernetes'
import { describeWithEachHelm, NAMESPACE } from './rendering.js'
import { FOR_PODS, OF_CONTAINERS, OF_PODS, PEERS } from './samples.js'

const OPERATOR_CLI = fileURLToPath(new URL('../../../../packages/operator-cli/', import.meta.url))
const DOCKERFILE = fileURLToPath(new URL('../../docker/Dockerfile', import.meta.url))
const PODS = [
  'auth-server',
  'auth-server-migration',
  'console',
  'open-payments-audit',
  'open-payments-backup',
  'resource-server',
  'resource-server-migration',
  'web'
]

/** The one container of a pod. */
function containerIn({ spec }: PodTemplate) {
  const [container, ...others] = spec.containers
  expect(others).toEqual([])
  expect(container).toBeDefined()
  return container!
}

/** What a container is called with: in place of the entrypoint, and after it. */
function callOf({ command, args }: Container) {
  return [command, args]
}

const specOf = (objects: readonly KubernetesObject[], kind: string, name: string) =>
  findObject(objects, kind, name).spec

describeWithEachHelm('the values', (chart) => {
  it('of pods hold for every pod', async () => {
    const { podLabels: labels, podAnnotations: annotations, ...spec } = OF_PODS
    const pods = podsOf(await chart.objects(FOR_PODS, '--skip-tests'))
    expect([...pods.keys()].sort()).toEqual(PODS)
    for (const template of pods.values()) {
      const { imagePullSecrets } = FOR_PODS
      expect(template).toMatchObject({
        metadata: { labels, annotations },
        spec: { ...spec, imagePullSecrets }
      })
      const { env, volumeMounts } = containerIn(template)
      expect(env).toEqual(expect.arrayContaining(OF_CONTAINERS.extraEnv))
      expect(volumeMounts).toEqual(expect.arrayContaining(OF_CONTAINERS.extraVolumeMounts))
      expect(template.spec.volumes).toEqual(expect.arrayContaining(OF_CONTAINERS.extraVolumes))
    }
  })

  it('of settings are passed unchanged', async () => {
    const FEES = 'USD=10+50,"EUR"={{ 0 }}: <#>&\n'
    const objects = await chart.objects({ resourceServer: { settings: { FEES } } })
    const deployment = findObject(objects, 'Deployment', 'resource-server') as Workload
    expect(containerOf(deployment).env).toContainEqual({ name: 'FEES', value: FEES })
  })

  // Nothing else of it.
  const ALL = [{ key: 'all.pem', path: 'all.pem' }]
  it.each([
    ['a ConfigMap', { configMap: 'ours', key: 'all.pem' }, { configMap: { name: 'ours', items: ALL } }],
    [
      'a Secret',
      { secret: 'ours', key: 'all.pem' },
      { secret: { secretName: 'ours', defaultMode: 0o440, items: ALL } }
    ]
  ])(
    'of authorities in %s are a file in every pod, which Node trusts',
    async (_what, authorities, source) => {
      const pods = podsOf(await chart.objects({ ...FOR_PODS, authorities }, '--skip-tests'))
      expect([...pods.keys()].sort()).toEqual(PODS)
      for (const [name, template] of pods) {
        const { env, volumeMounts } = containerIn(template)
        expect(template.spec.volumes).toContainEqual({ name: 'authorities', ...source })
        const mount = { name: 'authorities', mountPath: '/run/authorities', readOnly: true }
        expect(volumeMounts).toContainEqual(mount)
        const trusted = env?.find((variable) => variable.name === 'NODE_EXTRA_CA_CERTS')?.value
        expect(trusted).toBe(name === 'open-payments-backup' ? undefined : '/run/authorities/all.pem')
      }
    }
  )

  it('of security contexts hold for every pod, and null removes a field', async () => {
    const given = {
      ...FOR_PODS,
      podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null, supplementalGroups: [7] },
      containerSecurityContext: { capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } }
    }
    const pods = podsOf(await chart.objects(given))
    expect([...pods.keys()].sort()).toEqual([...PODS, 'open-payments-test'].sort())
    for (const template of pods.values()) {
      expect(template.spec.securityContext).toEqual({
        runAsNonRoot: true,
        supplementalGroups: [7],
        seccompProfile: { type: 'RuntimeDefault' }
      })
      expect(containerIn(template).securityContext).toEqual({
        allowPrivilegeEscalation: false,
        privileged: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] }
      })
    }
  })

  it('of common labels and annotations are on every object and pod, below those of one kind', async () => {
    const commonLabels = { team: 'payments', release: 'common' }
    const commonAnnotations = { owner: 'payments' }
    const objects = await chart.objects({
      ...FOR_PODS,
      commonLabels,
      commonAnnotations,
      serviceMonitor: { labels: { release: 'prometheus' } },
      dashboards: { enabled: true },
      ingress: { enabled: true }
    })
    expect(objects.length).toBeGreaterThan(40)
    for (const { kind, metadata } of objects) {
      const release = kind === 'ServiceMonitor' ? 'prometheus' : 'common'
      expect(metadata).toMatchObject({ labels: { ...commonLabels, release }, annotations: commonAnnotations })
    }
    for (const { metadata } of podsOf(objects).values()) {
      expect(metadata).toMatchObject({ labels: commonLabels, annotations: commonAnnotations })
    }
    const { selector } = specOf(objects, 'Deployment', 'auth-server') as { selector: unknown }
    expect(JSON.stringify(selector)).not.toContain('team')
  })

  it('of images name a version, and its digest', async () => {
    const digest = `sha256:${'0a'.repeat(32)}`
    const image = { repository: 'mirror.example/pay', tag: 'v1.2.0-rc.1', digest }
    const given = { authServer: { image }, audit: { enabled: true, image: { digest } } }
    const pods = podsOf(await chart.objects(given))
    const imageOf = (name: string) => containerIn(pods.get(name)!).image
    for (const name of ['auth-server', 'auth-server-migration', 'open-payments-test']) {
      expect(imageOf(name)).toBe(`mirror.example/pay:v1.2.0-rc.1@${digest}`)
    }
    expect(imageOf('open-payments-audit')).toBe(`registry.example/open-payments/operator:0.1.0@${digest}`)
    expect(imageOf('resource-server')).toBe('registry.example/open-payments/resource-server:0.1.0')
  })

  it('of scaling add metrics to that of the processor', async () => {
    const extra = {
      type: 'External',
      external: { metric: { name: 'queue' }, target: { type: 'Value', value: 5 } }
    }
    const objects = await chart.objects({ authServer: { autoscaling: { extraMetrics: [extra] } } })
    const metricsOf = (name: string) =>
      (specOf(objects, 'HorizontalPodAutoscaler', name) as { metrics: unknown[] }).metrics
    expect(metricsOf('auth-server')).toEqual([...metricsOf('resource-server'), extra])
  })

  it('of service accounts are annotations of each alone', async () => {
    const annotations = { 'eks.amazonaws.com/role-arn': 'arn:payments' }
    const objects = await chart.objects({ authServer: { serviceAccount: { annotations } } })
    expect(findObject(objects, 'ServiceAccount', 'auth-server').metadata.annotations).toEqual(annotations)
    expect(findObject(objects, 'ServiceAccount', 'resource-server').metadata).not.toHaveProperty(
      'annotations'
    )
  })

  it('of Prometheus are labels, intervals and where runbooks are', async () => {
    const labels = { release: 'prometheus' }
    const objects = await chart.objects({
      serviceMonitor: { labels, interval: '30s', scrapeTimeout: '20s' },
      prometheusRule: { labels, interval: '2m', runbookUrl: 'https://docs.example/runbooks' }
    })
    const monitor = findObject(objects, 'ServiceMonitor', 'open-payments')
    expect(monitor).toMatchObject({
      metadata: { labels },
      spec: { endpoints: [{ interval: '30s', scrapeTimeout: '20s' }] }
    })
    const rule = findObject(objects, 'PrometheusRule', 'open-payments')
    expect(rule).toMatchObject({ metadata: { labels } })
    const { groups } = rule.spec as {
      groups: { interval?: string; rules: { annotations?: { runbook_url: string } }[] }[]
    }
    // That of the budgets stays.
    expect(groups.flatMap(({ interval = [] }) => interval)).toEqual(['2m', '2m', '3m'])
    const urls = groups.flatMap(({ rules }) =>
      rules.flatMap(({ annotations }) => annotations?.runbook_url ?? [])
    )
    expect(urls.length).toBeGreaterThan(30)
    for (const url of urls) expect(url).toMatch(/^https:\/\/docs\.example\/runbooks\/\w+\.md$/)
  })

  it('give words to the entrypoint of the images, or Node in its place', async () => {
    const [, entrypoint = ''] = /^ENTRYPOINT (.*)$/m.exec(await readFile(DOCKERFILE, 'utf8')) ?? []
    const [node, ...rest] = JSON.parse(entrypoint) as string[]
    expect(rest.at(-1)).toBe('dist/main.js')
    const objects = await chart.objects({ audit: { enabled: true } })
    const calls = new Map([...podsOf(objects)].map(([name, pod]) => [name, callOf(containerIn(pod))]))
    expect(Object.fromEntries(calls)).toEqual({
      'auth-server': [undefined, undefined],
      'auth-server-migration': [undefined, ['migrate']],
      'open-payments-audit': [undefined, ['audit']],
      'open-payments-test': [[node], ['-e', ...Array<unknown>(3).fill(expect.any(String))]],
      'resource-server': [undefined, undefined],
      'resource-server-migration': [undefined, ['migrate']]
    })
  })

  it('of the audit make a call that the command line understands, up to the certificate', async () => {
    const pods = podsOf(await chart.objects({ audit: { enabled: true } }))
    const { args = [], env = [] } = containerIn(pods.get('open-payments-audit')!)
    const environment = Object.fromEntries(env.map(({ name, value }) => [name, value]))
    const call = (given: typeof environment): Promise<{ status: number | null; printed: string }> =>
      new Promise((resolve) => {
        // The entrypoint of the image.
        const main = join(OPERATOR_CLI, 'dist/main.js')
        const child = execFile(
          process.execPath,
          [main, ...args],
          { env: given },
          (_error, stdout, stderr) => {
            resolve({ status: child.exitCode, printed: stdout + stderr })
          }
        )
      })
    // The files are there only in the pod.
    const { status, printed } = await call(environment)
    expect(status).toBe(2)
    for (const name of ['CERTIFICATE', 'KEY', 'CA']) expect(printed).toContain(`OPERATOR_TLS_${name}_FILE`)
    const names = Object.keys(environment).filter((name) => name.startsWith('OPERATOR_TLS_'))
    expect(names).toHaveLength(3)
    for (const name of names) {
      const lacking = Object.entries(environment).filter(([other]) => other !== name)
      expect((await call(Object.fromEntries(lacking))).printed).toContain('given by halves')
    }
    expect(environment).toMatchObject({
      AUTH_GRPC_TARGET: 'auth-server-grpc:3002',
      WALLET_GRPC_TARGET: 'resource-server-grpc:3002'
    })
  })

  it('of dashboards give Grafana what it looks for', async () => {
    const objects = await chart.objects({
      dashboards: { enabled: true, labels: { grafana: 'yes' }, annotations: { folder: 'Payments' } }
    })
    const found = objects.filter(({ kind }) => kind === 'ConfigMap')
    expect(found).toHaveLength(3)
    for (const { metadata, data } of found) {
      expect(metadata).toMatchObject({ labels: { grafana: 'yes' }, annotations: { folder: 'Payments' } })
      const [text] = Object.values(data as Record<string, string>)
      expect(JSON.parse(text!)).toHaveProperty('panels')
    }
  })
})

interface Route {
  readonly hostnames: readonly string[]
  readonly parentRefs: readonly { readonly name: string }[]
  readonly rules: readonly [
    {
      readonly matches: readonly [{ readonly path: { readonly value: string } }]
      readonly filters?: unknown
      readonly backendRefs: readonly [{ readonly name: string; readonly port: number }]
    }
  ]
}

describeWithEachHelm('the way in', (chart) => {
  it('of an Ingress has TLS and the names of the public URLs, and leads to Services that there are', async () => {
    const objects = await chart.objects({
      ingress: { enabled: true, className: 'nginx' },
      listeners: { peers: PEERS, authServer: { tlsSecret: 'wildcard' } }
    })
    const expected = {
      'auth-server': ['auth.wallet.example', 'wildcard', 'http'],
      'resource-server': ['wallet.example', 'resource-server-tls', 'http'],
      'resource-server-peers': ['ilp.wallet.example', 'resource-server-peers-tls', 'ilp']
    } as const
    for (const [name, [host, secretName, targetPort]] of Object.entries(expected)) {
      expect(specOf(objects, 'Ingress', name)).toEqual({
        ingressClassName: 'nginx',
        tls: [{ hosts: [host], secretName }],
        rules: [
          {
            host,
            http: {
              paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name, port: { number: 80 } } } }]
            }
          }
        ]
      })
      const ports = expect.arrayContaining([expect.objectContaining({ port: 80, targetPort })]) as unknown
      expect(specOf(objects, 'Service', name)).toMatchObject({ ports })
    }
  })

  it('of the Gateway API has TLS at a Gateway of its own, one listener for each name', async () => {
    const settings = { PUBLIC_URL: 'https://wallet.example/auth/' }
    const objects = await chart.objects({
      gateway: { enabled: true, className: 'envoy' },
      listeners: { peers: PEERS },
      authServer: { settings }
    })
    expect(specOf(objects, 'Gateway', 'open-payments')).toMatchObject({
      gatewayClassName: 'envoy',
      listeners: [
        {
          hostname: 'wallet.example',
          protocol: 'HTTPS',
          tls: { certificateRefs: [{ name: 'auth-server-tls' }] }
        },
        { hostname: 'ilp.wallet.example', tls: { certificateRefs: [{ name: 'resource-server-peers-tls' }] } }
      ]
    })
    const { hostnames, parentRefs, rules } = specOf(objects, 'HTTPRoute', 'auth-server') as Route
    expect({ hostnames, parentRefs }).toEqual({
      hostnames: ['wallet.example'],
      parentRefs: [{ name: 'open-payments' }]
    })
    // The service does not know of the path, so it is taken off.
    const path = { type: 'ReplacePrefixMatch', replacePrefixMatch: '/' }
    expect(rules).toEqual([
      {
        matches: [{ path: { type: 'PathPrefix', value: '/auth' } }],
        filters: [{ type: 'URLRewrite', urlRewrite: { path } }],
        backendRefs: [{ name: 'auth-server', port: 80 }]
      }
    ])
    const [rule] = (specOf(objects, 'HTTPRoute', 'resource-server') as Route).rules
    expect(rule.matches[0].path.value).toBe('/')
    expect(rule).not.toHaveProperty('filters')
  })

  it('of the Gateway API leads through Gateways of others', async () => {
    const parentRefs = [{ name: 'public', namespace: 'gateways', sectionName: 'https' }]
    const objects = await chart.objects({ gateway: { enabled: true, parentRefs } })
    expect(objects.map(({ kind }) => kind)).not.toContain('Gateway')
    expect((specOf(objects, 'HTTPRoute', 'resource-server') as Route).parentRefs).toEqual(parentRefs)
  })
})

describeWithEachHelm('the network policies', (chart) => {
  const traffic = async (given: unknown) => {
    const objects = await chart.objects({
      audit: { enabled: true },
      backup: { enabled: true },
      ...(given as object)
    })
    const pods = podsOf(objects)
    const pod = (name: string) => {
      const template = pods.get(name)!
      const ports = (containerIn(template).ports ?? []).map(
        (each) => [each.name, each.containerPort] as const
      )
      return { namespace: NAMESPACE, labels: template.metadata.labels, ports: Object.fromEntries(ports) }
    }
    return { traffic: new Traffic(objects, NAMESPACE), pod }
  }
  const PORTS = [3000, 3001, 3002, 3010, 9464]

  it('let the audit, the backup and the test reach what they need, and nothing else', async () => {
    const { traffic: policies, pod } = await traffic({})
    const reached = (from: string, to: string) =>
      PORTS.filter((port) => policies.allows(pod(from), pod(to), port))
    const database = { address: '192.0.2.10' }
    for (const name of ['open-payments-audit', 'open-payments-backup', 'open-payments-test']) {
      expect(policies.isIsolated(pod(name))).toBe(true)
      const dns = { namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' } }
      expect(policies.allows(pod(name), dns, 53, 'UDP')).toBe(true)
      expect(policies.allows(pod(name), { address: '203.0.113.5' }, 443)).toBe(false)
      expect(policies.allows(pod(name), database, 5432)).toBe(name === 'open-payments-backup')
    }
    for (const service of ['auth-server', 'resource-server']) {
      expect(reached('open-payments-audit', service)).toEqual([3002])
      expect(reached('open-payments-backup', service)).toEqual([])
    }
    expect(reached('open-payments-test', 'auth-server')).toEqual([3001])
    expect(reached('open-payments-test', 'resource-server')).toEqual([3000])
  })

  it('let names be asked elsewhere, and the services out to more', async () => {
    const openshift = { 'kubernetes.io/metadata.name': 'openshift-dns' }
    const collector = { podSelector: { matchLabels: { app: 'collector' } } }
    const { traffic: policies, pod } = await traffic({
      networkPolicies: {
        dns: { to: [{ namespaceSelector: { matchLabels: openshift } }], ports: [5353] },
        extraEgress: [{ to: [collector], ports: [{ protocol: 'TCP', port: 4318 }] }]
      }
    })
    const [dns, usual] = ['openshift-dns', 'kube-system'].map((namespace) => ({
      namespace,
      labels: { 'k8s-app': 'kube-dns' }
    }))
    const more = { namespace: NAMESPACE, labels: { app: 'collector' } }
    for (const name of ['auth-server', 'auth-server-migration']) {
      for (const protocol of ['UDP', 'TCP']) {
        expect(policies.allows(pod(name), dns!, 5353, protocol)).toBe(true)
        expect(policies.allows(pod(name), usual!, 53, protocol)).toBe(false)
      }
      expect(policies.allows(pod(name), more, 4318)).toBe(name === 'auth-server')
    }
  })
})

const SHA = `sha256:${'0a'.repeat(32)}`
const NOT_IN_SCHEMA = "values don't meet the specifications of the schema(s)"

describeWithEachHelm('the values that make no sense', (chart) => {
  const at = (path: string, value: unknown) =>
    path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value)

  it.each<[string, string, unknown]>([
    ['a setting that is none', 'authServer.settings.PUBLIC_ULR', 'https://auth.wallet.example/'],
    ['a secret in plain sight', 'authServer.settings.IDENTITY_PROVIDER_SECRET', 'hG7tYw3KdM9sZq4B'],
    ['a setting that is no text', 'authServer.settings.ACCESS_TOKEN_LIFETIME_SECONDS', 600],
    ['a level that is none', 'authServer.settings.LOG_LEVEL', 'shout'],
    ['a level that is none, of the other service', 'resourceServer.settings.LOG_LEVEL', 'INFO'],
    ['a durability that is none', 'authServer.settings.DATABASE_DURABILITY', 'maybe'],
    ['a number that is none', 'authServer.settings.ACCESS_TOKEN_LIFETIME_SECONDS', 'ten minutes'],
    ['a switch that is none', 'resourceServer.settings.GRPC_REFLECTION', 'maybe'],
    ['another port than the Service knows', 'authServer.settings.HTTP_PORT', '8080'],
    ['a required setting left out', 'resourceServer.settings.PUBLIC_URL', null],
    ['an image without a version', 'authServer.image.tag', 'latest'],
    ['an image with two digests', 'authServer.image.tag', `0.1.0@${SHA}`],
    ['a digest that is none', 'audit.image.digest', 'sha256:1234'],
    ['a database image without a version', 'backup.image.tag', ''],
    ['no limits', 'authServer.resources.limits', null],
    ['everybody in a network policy', 'networkPolicies.metrics', []],
    ['everybody in a rule', 'networkPolicies.public', [{ from: [], ports: [{ port: 'http' }] }]],
    ['everybody in a rule for what goes out', 'networkPolicies.extraEgress', [{ ports: [{ port: 443 }] }]],
    ['everybody as a peer', 'networkPolicies.identityProvider', [{}]],
    ['a label that selects', 'authServer.podLabels', { 'app.kubernetes.io/name': 'mine' }],
    ['a common label that selects', 'commonLabels', { 'app.kubernetes.io/part-of': 'mine' }],
    ['a label that lets in', 'authServer.podLabels', { 'open-payments/access': 'operator' }],
    [
      'a variable that the chart sets',
      'authServer.extraEnv',
      [{ name: 'DATABASE_URL_FILE', value: '/tmp/url' }]
    ],
    [
      'a secret that a file gives, too',
      'authServer.extraEnv',
      [{ name: 'REDIS_URL', valueFrom: { secretKeyRef: { name: 'redis', key: 'url' } } }]
    ],
    ['a port among variables', 'resourceServer.extraEnv', [{ name: 'HTTP_PORT', value: '8080' }]],
    [
      'a secret among variables',
      'authServer.extraEnv',
      [{ name: 'WEBHOOK_SECRET_KEY', value: 'hG7tYw3KdM9s' }]
    ],
    [
      'a variable with two values',
      'backup.extraEnv',
      [{ name: 'A', value: '', valueFrom: { fieldRef: {} } }]
    ],
    ['authorities of two places', 'authorities', { configMap: 'ours', secret: 'ours' }],
    ['no replica', 'authServer.autoscaling.minReplicas', 0],
    ['a Gateway of no class', 'gateway', { enabled: true }],
    ['a schedule that is none', 'audit.schedule', 'daily at two'],
    ['dumps that are not kept', 'backup.keepDays', 0],
    ['two volumes for dumps', 'backup.volume', { nfs: { server: 'a', path: '/' } }],
    ['an interval that is none', 'serviceMonitor.interval', '15'],
    ['runbooks that are nowhere', 'prometheusRule.runbookUrl', 'runbooks'],
    ['a value that is none', 'authServer.replicas', 3]
  ])('are refused: %s', async (_what, path, value) => {
    const refusal = await chart.refusal(at(path, value))
    expect(refusal).toContain(NOT_IN_SCHEMA)
    for (const name of path.split('.')) expect(refusal).toContain(name)
  })

  it.each<[string, unknown, string]>([
    [
      'more replicas at least than at most',
      { authServer: { autoscaling: { minReplicas: 7 } } },
      'authServer.autoscaling: minReplicas (7) is above maxReplicas (6)'
    ],
    [
      'more replicas at least than at most, of the other service',
      { resourceServer: { autoscaling: { minReplicas: 3, maxReplicas: 2 } } },
      'resourceServer.autoscaling: minReplicas (3) is above maxReplicas (2)'
    ],
    [
      'a setting that is given twice',
      { authServer: { extraEnv: [{ name: 'PUBLIC_URL', value: 'https://other.example/' }] } },
      'authServer.extraEnv: PUBLIC_URL is among the settings, too'
    ],
    [
      'authorities that are given twice',
      {
        authorities: { configMap: 'ours' },
        resourceServer: { extraEnv: [{ name: 'NODE_EXTRA_CA_CERTS', value: '/etc/ca.pem' }] }
      },
      'resourceServer.extraEnv: NODE_EXTRA_CA_CERTS is set by `authorities`, too'
    ],
    [
      'authorities that are given twice, of the audit',
      {
        authorities: { configMap: 'ours' },
        audit: { enabled: true, extraEnv: [{ name: 'NODE_EXTRA_CA_CERTS', value: '/etc/ca.pem' }] }
      },
      'audit.extraEnv: NODE_EXTRA_CA_CERTS is set by `authorities`, too'
    ],
    [
      'peers under the name of a service',
      { ingress: { enabled: true }, listeners: { peers: { host: 'wallet.example' } } },
      'listeners.peers.host: wallet.example is that of a service'
    ],
    [
      'two services under one URL',
      {
        gateway: { enabled: true, className: 'envoy' },
        authServer: { settings: { PUBLIC_URL: 'https://wallet.example/' } }
      },
      'authServer and resourceServer have the same PUBLIC_URL, wallet.example'
    ],
    [
      'a path that an Ingress cannot remove',
      {
        ingress: { enabled: true },
        authServer: { settings: { PUBLIC_URL: 'https://wallet.example/auth/' } }
      },
      'auth-server is reached below the path /auth'
    ]
  ])('are refused: %s', async (_what, given, words) => {
    expect(await chart.refusal(given)).toContain(words)
  })

  it.each<[string, unknown]>([
    ['as many replicas at least as at most', { authServer: { autoscaling: { minReplicas: 6 } } }],
    [
      'switches and levels as the services read them',
      { authServer: { settings: { GRPC_REFLECTION: 'Yes', LOG_LEVEL: 'debug' } } }
    ],
    [
      'a setting of a ConfigMap',
      {
        authServer: {
          extraEnv: [{ name: 'LOG_LEVEL', valueFrom: { configMapKeyRef: { name: 'a', key: 'b' } } }]
        }
      }
    ],
    ['values of parent charts', { global: { region: 'eu' }, enabled: true }]
  ])('are not among these: %s', async (_what, given) => {
    expect(await chart.refusal(given)).toBe('nothing was refused')
  })
})
