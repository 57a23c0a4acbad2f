import { loadMigrationConfiguration } from '@open-payments-server/runtime/configuration'
import { beforeAll, describe, expect, it } from '@jest/globals'
import {
  containerOf,
  findObject,
  findSchemaProblems,
  findTools,
  type KubernetesObject,
  type Overlay,
  renderOverlay,
  Traffic,
  type Workload,
  workloadsOf
} from '../src/index.js'
import { type ServiceName, SERVICES, withSecretFiles } from './starting.js'

const tools = await findTools()
if (typeof tools === 'string') console.log(`skipped: no kubectl can be had, so nothing is rendered: ${tools}`)
const describeRendered = typeof tools === 'string' ? describe.skip : describe

const OVERLAYS: readonly Overlay[] = ['production', 'development']
const NAMES = Object.keys(SERVICES) as ServiceName[]
const rendered = new Map<Overlay, KubernetesObject[]>()
const objectsOf = (overlay: Overlay): KubernetesObject[] => rendered.get(overlay)!

/** `CLOSING_MAX_MS` of the runtime: how long closing may take once listeners have stopped. */
const CLOSING_MAX_SECONDS = 5

beforeAll(async () => {
  if (typeof tools === 'string') return
  for (const overlay of OVERLAYS) rendered.set(overlay, await renderOverlay(overlay, tools.kubectl))
})

const workload = (objects: KubernetesObject[], kind: string, name: string): Workload =>
  findObject(objects, kind, name) as Workload
const environmentOf = (of: Workload): Record<string, string> =>
  Object.fromEntries((containerOf(of).env ?? []).map(({ name, value }) => [name, value!]))
/** Each service with its Deployment and its migration. */
const servicesOf = (objects: KubernetesObject[]): [ServiceName, Workload, Workload][] =>
  NAMES.map((name) => [
    name,
    workload(objects, 'Deployment', name),
    workload(objects, 'Job', `${name}-migration`)
  ])

describeRendered.each(OVERLAYS)('the %s overlay', (overlay) => {
  it('is valid for Kubernetes, cert-manager and the Prometheus operator in every field', async () => {
    const problems: string[] = []
    // One after the other, because jest cannot load a module twice at once.
    for (const object of objectsOf(overlay)) {
      for (const problem of await findSchemaProblems(object)) {
        problems.push(`${object.kind} ${object.metadata.name}: ${problem}`)
      }
    }
    expect(problems).toEqual([])
  })

  it('has only settings, with which both services start', () => {
    for (const [name, deployment] of servicesOf(objectsOf(overlay))) {
      const environment = environmentOf(deployment)
      const config = withSecretFiles(name, environment, (given) => SERVICES[name].start(given))
      expect(config.ENVIRONMENT).toBe(overlay)
      expect(unknownSettings(name, environment)).toEqual([])
    }
  })

  it('migrates with only the database URL, as another service account, with the same image', () => {
    for (const [name, deployment, job] of servicesOf(objectsOf(overlay))) {
      const environment = environmentOf(job)
      expect(Object.keys(environment)).toEqual(['DATABASE_URL_FILE'])
      expect(() => withSecretFiles(name, environment, loadMigrationConfiguration)).not.toThrow()
      expect(containerOf(job)).toMatchObject({
        image: containerOf(deployment).image,
        args: ['migrate']
      })
      expect(environment.DATABASE_URL_FILE).not.toBe(environmentOf(deployment).DATABASE_URL_FILE)
    }
  })

  it('runs every pod unprivileged, without a token, and with limits', () => {
    for (const each of workloadsOf(objectsOf(overlay))) {
      const { spec } = each.spec.template
      expect(spec).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: expect.any(Number),
          seccompProfile: { type: 'RuntimeDefault' }
        }
      })
      expect((spec.securityContext as { runAsUser: number }).runAsUser).toBeGreaterThan(0)
      for (const forbidden of ['hostNetwork', 'hostPID', 'hostIPC'])
        expect(spec).not.toHaveProperty(forbidden)
      expect(JSON.stringify(spec.volumes)).not.toContain('hostPath')
      expect(containerOf(each)).toMatchObject({
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] }
        },
        resources: {
          requests: { cpu: expect.anything(), memory: expect.anything() },
          limits: { cpu: expect.anything(), memory: expect.anything() }
        }
      })
    }
  })

  it('names every image by a version', () => {
    for (const each of workloadsOf(objectsOf(overlay))) {
      expect(containerOf(each).image).toMatch(/^[\w./-]+:(?!latest)[\w.-]+(@sha256:[0-9a-f]{64})?$/)
    }
  })

  it('shows no secret: each is a file of a mounted secret', () => {
    for (const deployed of servicesOf(objectsOf(overlay)).flatMap(([, ...both]) => both)) {
      const name = deployed.metadata.labels!['app.kubernetes.io/name'] as ServiceName
      const environment = environmentOf(deployed)
      const { volumes = [] } = deployed.spec.template.spec
      const { volumeMounts = [] } = containerOf(deployed)
      for (const { name: setting, secret } of SERVICES[name].settings) {
        if (secret) expect(environment).not.toHaveProperty(setting)
        const path =
          environment[`${setting}_FILE`] ?? (setting.endsWith('_FILE') ? environment[setting] : undefined)
        if (path === undefined) continue
        const mount = volumeMounts.find(({ mountPath }) => path.startsWith(`${mountPath}/`))
        const volume = volumes.find((candidate) => candidate.name === mount?.name)
        expect(volume).toHaveProperty('secret.secretName')
        const items = volume!.secret!.items?.map((item) => `${mount!.mountPath}/${item.path}`)
        if (items !== undefined) expect(items).toContain(path)
      }
    }
  })

  it('probes startup, readiness and liveness separately, at their port', () => {
    for (const [name, deployment] of servicesOf(objectsOf(overlay))) {
      const container = containerOf(deployment)
      const port = name === 'auth-server' ? 'idp' : 'http'
      expect(container).toMatchObject({
        startupProbe: { httpGet: { path: '/healthz', port } },
        readinessProbe: { httpGet: { path: '/readyz', port } },
        livenessProbe: { httpGet: { path: '/healthz', port } }
      })
      const config = withSecretFiles(name, environmentOf(deployment), (given) => SERVICES[name].start(given))
      expect(Object.fromEntries(container.ports!.map((each) => [each.name, each.containerPort]))).toEqual({
        http: config.HTTP_PORT,
        grpc: config.GRPC_PORT,
        metrics: config.METRICS_PORT,
        ...('IDENTITY_PROVIDER_PORT' in config
          ? { idp: config.IDENTITY_PROVIDER_PORT }
          : { ilp: config.ILP_PORT })
      })
    }
  })

  it('gives a service the time to stop that it is configured for', () => {
    for (const [name, deployment] of servicesOf(objectsOf(overlay))) {
      const { terminationGracePeriodSeconds } = deployment.spec.template.spec
      const { lifecycle } = containerOf(deployment) as unknown as {
        lifecycle: { preStop: { sleep: { seconds: number } } }
      }
      const config = withSecretFiles(name, environmentOf(deployment), (given) => SERVICES[name].start(given))
      expect(terminationGracePeriodSeconds).toBeGreaterThan(
        lifecycle.preStop.sleep.seconds +
          config.SHUTDOWN_DELAY_SECONDS +
          config.SHUTDOWN_GRACE_SECONDS +
          CLOSING_MAX_SECONDS
      )
    }
  })

  it('routes requests only to servers, never to migration pods', () => {
    const objects = objectsOf(overlay)
    for (const [name, deployment, job] of servicesOf(objects)) {
      const [server, migration] = [deployment, job].map((each) => each.spec.template.metadata.labels)
      const ours = objects.filter(
        (object) =>
          ['Service', 'PodDisruptionBudget'].includes(object.kind) && object.metadata.name.startsWith(name)
      )
      expect(ours.length).toBeGreaterThanOrEqual(3)
      for (const { spec } of ours) {
        const { selector } = spec as { selector: Record<string, unknown> }
        const labels = (selector.matchLabels ?? selector) as Record<string, string>
        expect(server).toMatchObject(labels)
        expect(migration).not.toMatchObject(labels)
      }
    }
  })

  it('has certificates with the names of the allow-lists, each mounted in the right pods', () => {
    const objects = objectsOf(overlay)
    const names = (certificate: string) =>
      (findObject(objects, 'Certificate', certificate).spec as CertificateSpec).uris
    const [auth, resource] = NAMES.map((name) => workload(objects, 'Deployment', name)) as [
      Workload,
      Workload
    ]
    const [authConfig, resourceConfig] = [environmentOf(auth), environmentOf(resource)]
    expect(authConfig.GRPC_INTROSPECTION_CLIENTS).toBe(names('resource-server-grpc').join())
    expect(authConfig.GRPC_LIMITS_CLIENTS).toBe(names('resource-server-grpc').join())
    expect(authConfig.GRPC_OPERATOR_CLIENTS).toBe(names('operator-grpc').join())
    expect(resourceConfig.GRPC_OPERATOR_CLIENTS).toBe(names('operator-grpc').join())

    const [, host, port] = /^dns:\/\/\/([\w-]+):(\d+)$/.exec(resourceConfig.AUTH_GRPC_TARGET!)!
    const { dnsNames } = findObject(objects, 'Certificate', 'auth-server-grpc').spec as CertificateSpec
    expect(dnsNames).toContain(host)
    expect(findObject(objects, 'Service', host!).spec).toMatchObject({
      clusterIP: 'None',
      ports: [{ port: Number(port), targetPort: 'grpc' }]
    })
    for (const [service, deployment] of [
      ['auth-server', auth],
      ['resource-server', resource]
    ] as const) {
      const { secretName } = findObject(objects, 'Certificate', `${service}-grpc`).spec as CertificateSpec
      const mounted = deployment.spec.template.spec.volumes!.find(({ name }) => name === 'grpc-certificate')
      expect(mounted).toMatchObject({ secret: { secretName } })
      expect(containerOf(deployment).volumeMounts).toContainEqual(
        expect.objectContaining({ name: 'grpc-certificate', mountPath: '/run/secrets/grpc' })
      )
    }
    expect(JSON.stringify(objects)).not.toContain('subPath')
  })

  it('advertises the auth server where it is', () => {
    const objects = objectsOf(overlay)
    const [auth, resource] = NAMES.map((name) => workload(objects, 'Deployment', name)) as [
      Workload,
      Workload
    ]
    expect(environmentOf(resource).AUTH_SERVER_URL).toBe(environmentOf(auth).PUBLIC_URL)
  })
})

describeRendered('the check against schemas', () => {
  it.each<[string, object, RegExp]>([
    [
      'a field that Kubernetes would drop',
      { terminationGracePeriod: 3 },
      /terminationGracePeriod is not known/
    ],
    [
      'a value of another type',
      { terminationGracePeriodSeconds: 'ten' },
      /terminationGracePeriodSeconds must be/
    ]
  ])('notices %s', async (_what, spec, message) => {
    const deployment = structuredClone(workload(objectsOf('production'), 'Deployment', 'auth-server'))
    Object.assign(deployment.spec.template.spec, spec)
    expect(await findSchemaProblems(deployment)).toEqual([expect.stringMatching(message)])
  })
})

describeRendered('production', () => {
  const objects = () => objectsOf('production')

  it('contains no secret, and enforces the restricted pod security standard', () => {
    expect(objects().filter(({ kind }) => kind === 'Secret')).toEqual([])
    expect(findObject(objects(), 'Namespace', 'open-payments').metadata.labels).toMatchObject({
      'pod-security.kubernetes.io/enforce': 'restricted'
    })
  })

  it('runs at least two of each, disrupts at most one, and tells the services the maximum', () => {
    for (const [name, deployment] of servicesOf(objects())) {
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

  it('migrates before anything else, with Argo CD and with Helm', () => {
    for (const [, , job] of servicesOf(objects())) {
      expect(job.metadata.annotations).toMatchObject({
        'argocd.argoproj.io/hook': 'PreSync',
        'helm.sh/hook': 'pre-install,pre-upgrade'
      })
    }
  })

  it('is watched: the ServiceMonitor finds a metrics port of each service', () => {
    const { spec } = findObject(objects(), 'ServiceMonitor', 'open-payments')
    const { selector } = spec as { selector: { matchLabels: Record<string, string> } }
    const found = objects().filter(
      ({ kind, metadata }) =>
        kind === 'Service' &&
        Object.entries(selector.matchLabels).every(([key, value]) => metadata.labels?.[key] === value)
    )
    expect(found.map(({ metadata }) => metadata.name)).toEqual([
      'auth-server-metrics',
      'resource-server-metrics'
    ])
    for (const each of found)
      expect(each.spec).toMatchObject({ ports: [{ name: 'metrics', targetPort: 'metrics' }] })
  })

  describe('its network policies', () => {
    const namespace = 'open-payments'
    const traffic = () => new Traffic(objects(), namespace)
    const pod = (of: Workload) => ({
      namespace,
      labels: of.spec.template.metadata.labels,
      ports: Object.fromEntries((containerOf(of).ports ?? []).map((each) => [each.name, each.containerPort]))
    })
    const server = (name: ServiceName) => pod(workload(objects(), 'Deployment', name))
    const migration = (name: ServiceName) => pod(workload(objects(), 'Job', `${name}-migration`))
    const elsewhere = (inNamespace: string, labels: Record<string, string> = {}) => ({
      namespace: inNamespace,
      labels
    })

    const INGRESS = elsewhere('ingress-nginx')
    const PROMETHEUS = elsewhere('monitoring', { 'app.kubernetes.io/name': 'prometheus' })
    const OPERATOR = elsewhere(namespace, { 'open-payments/access': 'operator' })
    const IDENTITY_PROVIDER = elsewhere(namespace, { 'open-payments/access': 'identity-provider' })
    const STRANGERS = [
      elsewhere(namespace),
      elsewhere('default'),
      elsewhere('monitoring'),
      elsewhere('default', { 'open-payments/access': 'operator' }),
      { address: '198.51.100.7' }
    ]
    const PORTS = [3000, 3001, 3002, 3010, 9464]

    it('isolate every pod in both directions', () => {
      for (const each of workloadsOf(objects())) expect(traffic().isIsolated(pod(each))).toBe(true)
    })

    it('allow only the intended callers of a port', () => {
      const portsFor = (from: Parameters<Traffic['allows']>[0], name: ServiceName) =>
        PORTS.filter((port) => traffic().allows(from, server(name), port))
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
        expect(portsFor(migration(name), 'auth-server')).toEqual([])
      }
    })

    it('allow egress to DNS and databases, and https to the internet from the services alone', () => {
      const [dns, postgresql, redis] = [
        elsewhere('kube-system', { 'k8s-app': 'kube-dns' }),
        { address: '192.0.2.10' },
        { address: '192.0.2.20' }
      ]
      for (const name of NAMES) {
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
        for (const name of NAMES) {
          expect(traffic().allows(server(name), to, 443)).toBe(true)
          expect(traffic().allows(server(name), to, 80)).toBe(false)
          expect(traffic().allows(migration(name), to, 443)).toBe(false)
        }
      }
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

interface CertificateSpec {
  readonly uris: readonly string[]
  readonly dnsNames: readonly string[]
  readonly secretName: string
}

function unknownSettings(service: ServiceName, environment: Readonly<Record<string, string>>): string[] {
  const known = new Set(
    SERVICES[service].settings.flatMap(({ name, secret }) => (secret ? [name, `${name}_FILE`] : [name]))
  )
  return Object.keys(environment).filter((name) => !known.has(name))
}
