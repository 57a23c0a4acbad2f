import { loadMigrationConfiguration } from '@open-payments-server/runtime/configuration'
import { expect, it } from '@jest/globals'
import {
  containerOf,
  findObject,
  findSchemaProblems,
  type Overlay,
  type Workload,
  workloadsOf
} from '../src/index.js'
import {
  deploymentsOf,
  describeRendered,
  environmentOf,
  NAMES,
  renderBefore,
  servicesOf,
  workload
} from './overlays.js'
import { type ServiceName, SERVICES, withSecretFiles } from './starting.js'

const OVERLAYS: readonly Overlay[] = ['production', 'development']
const objectsOf = renderBefore(...OVERLAYS)

/** `CLOSING_MAX_MS` of the runtime: how long closing may take once listeners have stopped. */
const CLOSING_MAX_SECONDS = 5

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

  it('has only settings, with which both services and the pages start', () => {
    for (const [name, deployment] of deploymentsOf(objectsOf(overlay))) {
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
      expect(JSON.stringify(spec.volumes ?? [])).not.toContain('hostPath')
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
    const jobs = servicesOf(objectsOf(overlay)).map(([, , job]) => job)
    for (const deployed of [...deploymentsOf(objectsOf(overlay)).map(([, each]) => each), ...jobs]) {
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
    for (const [name, deployment] of deploymentsOf(objectsOf(overlay))) {
      const container = containerOf(deployment)
      const port = name === 'auth-server' ? 'idp' : name === 'console' ? 'console' : 'http'
      expect(container).toMatchObject({
        startupProbe: { httpGet: { path: '/healthz', port } },
        readinessProbe: { httpGet: { path: '/readyz', port } },
        livenessProbe: { httpGet: { path: '/healthz', port } }
      })
      const config = withSecretFiles(name, environmentOf(deployment), (given) => SERVICES[name].start(given))
      expect(Object.fromEntries(container.ports!.map((each) => [each.name, each.containerPort]))).toEqual({
        ...(name !== 'console' && { http: config.HTTP_PORT }),
        metrics: config.METRICS_PORT,
        ...('GRPC_PORT' in config && { grpc: config.GRPC_PORT }),
        ...('IDENTITY_PROVIDER_PORT' in config && { idp: config.IDENTITY_PROVIDER_PORT }),
        ...('ILP_PORT' in config && { ilp: config.ILP_PORT }),
        ...(name === 'console' && 'CONSOLE_PORT' in config && { console: config.CONSOLE_PORT })
      })
    }
  })

  it('gives a service the time to stop that it is configured for', () => {
    for (const [name, deployment] of deploymentsOf(objectsOf(overlay))) {
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

  it('routes requests only to whom they are for, never to migration pods', () => {
    const objects = objectsOf(overlay)
    for (const [name, deployment] of deploymentsOf(objects)) {
      const labelsOf = (each: Workload) => each.spec.template.metadata.labels
      const others = workloadsOf(objects).filter((each) => each !== deployment)
      const ours = objects.filter(
        (object) =>
          ['Service', 'PodDisruptionBudget'].includes(object.kind) && object.metadata.name.startsWith(name)
      )
      expect(ours.length).toBeGreaterThanOrEqual(2)
      for (const { spec } of ours) {
        const { selector } = spec as { selector: Record<string, unknown> }
        const labels = (selector.matchLabels ?? selector) as Record<string, string>
        expect(labelsOf(deployment)).toMatchObject(labels)
        for (const other of others) expect(labelsOf(other)).not.toMatchObject(labels)
      }
    }
  })

  it('has certificates with the names of the allow-lists, each mounted in the right pods', () => {
    const objects = objectsOf(overlay)
    const names = (certificate: string) =>
      (findObject(objects, 'Certificate', certificate).spec as CertificateSpec).uris
    const [authConfig, resourceConfig, pagesConfig, consoleConfig] = NAMES.map((name) =>
      environmentOf(workload(objects, 'Deployment', name))
    ) as Environments
    expect(authConfig.GRPC_INTROSPECTION_CLIENTS).toBe(names('resource-server-grpc').join())
    expect(authConfig.GRPC_LIMITS_CLIENTS).toBe(names('resource-server-grpc').join())
    for (const config of [authConfig, resourceConfig]) {
      expect(config.GRPC_OPERATOR_CLIENTS).toBe([...names('operator-grpc'), ...names('console-grpc')].join())
      expect(config.GRPC_HOLDER_CLIENTS).toBe(names('web-grpc').join())
      // The console does nothing without a person's token, and where people sign in no machine acts beside them.
      const roles = overlay === 'production' ? 'viewer' : 'operator+approver'
      expect(config.OPERATOR_MACHINES).toBe(`${names('operator-grpc').join()}=${roles}`)
    }

    for (const [target, service] of [
      [resourceConfig.AUTH_GRPC_TARGET, 'auth-server'],
      [pagesConfig.AUTH_GRPC_TARGET, 'auth-server'],
      [pagesConfig.RESOURCE_GRPC_TARGET, 'resource-server'],
      [consoleConfig.AUTH_GRPC_TARGET, 'auth-server'],
      [consoleConfig.RESOURCE_GRPC_TARGET, 'resource-server']
    ] as const) {
      const [, host, port] = /^dns:\/\/\/([\w-]+):(\d+)$/.exec(target!)!
      const { dnsNames } = findObject(objects, 'Certificate', `${service}-grpc`).spec as CertificateSpec
      expect(dnsNames).toContain(host)
      expect(findObject(objects, 'Service', host!).spec).toMatchObject({
        clusterIP: 'None',
        ports: [{ port: Number(port), targetPort: 'grpc' }]
      })
    }
    for (const [service, deployment] of deploymentsOf(objects)) {
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

  it('leads account holders to their pages, and takes the word of the issuer where they sign in', () => {
    const objects = objectsOf(overlay)
    const [auth, resource, pages, console] = NAMES.map((name) =>
      environmentOf(workload(objects, 'Deployment', name))
    ) as Environments
    expect(auth.CONSENT_PAGE_URL).toBe(`${pages.PUBLIC_URL}/consent`)
    expect(auth.CONSENT_ISSUERS).toBe(`${pages.CLIENT_ID}@${pages.ISSUER}`)
    expect(auth).toHaveProperty('OWNERSHIP_PUBLIC_KEYS')
    expect(resource).toHaveProperty('OWNERSHIP_KEYS_FILE')
    for (const { OPERATOR_ISSUERS: given } of [auth, resource]) {
      expect(JSON.parse(given!)).toMatchObject([
        { issuer: console.ISSUER, clientIds: [console.CONSOLE_CLIENT_ID], rolesClaim: 'roles' }
      ])
    }
    const { host, port } = new URL(pages.AUTH_API_URL!)
    expect(findObject(objects, 'Service', host.split(':')[0]!).spec).toMatchObject({
      ports: [{ port: Number(port), targetPort: 'idp' }]
    })
  })

  it('keeps the console apart from the pages: other pods, another certificate, and another secret', () => {
    const [pages, console] = ['web', 'console'].map((name) =>
      workload(objectsOf(overlay), 'Deployment', name)
    )
    const secretsOf = (of: Workload | undefined) =>
      of?.spec.template.spec.volumes?.map(({ secret }) => secret?.secretName)
    expect([secretsOf(pages), secretsOf(console)]).toEqual([
      ['web', 'web-grpc'],
      ['console', 'console-grpc']
    ])
    expect(JSON.stringify(pages)).not.toContain('CONSOLE_')
    for (const ofPages of ['PUBLIC_URL', 'IDENTITY_PROVIDER_SECRET', 'AUTH_API_URL', '"CLIENT_SECRET'])
      expect(JSON.stringify(console)).not.toContain(ofPages)
  })

  it('has a Service for each listener of the pages', () => {
    const portsOf = (name: string) => findObject(objectsOf(overlay), 'Service', name).spec
    expect(portsOf('web')).toMatchObject({ ports: [{ port: 80, targetPort: 'http' }] })
    expect(portsOf('console')).toMatchObject({ ports: [{ port: 80, targetPort: 'console' }] })
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

/** Of the auth server, the resource server, the pages of account holders, and the console. */
type Environments = [
  Record<string, string>,
  Record<string, string>,
  Record<string, string>,
  Record<string, string>
]

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
