import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import {
  findObject,
  type KubernetesObject,
  parseObjects,
  podsOf,
  type Workload,
  workloadsOf
} from '@open-payments-server/kubernetes'
import { parse } from 'yaml'
import { CHART } from '../src/index.js'
import { describeWithEachHelm, EXAMPLES, schemaProblemsOf } from './rendering.js'

const textOf = (name: string) => readFile(join(EXAMPLES, name), 'utf8')
const objectsOf = async (name: string) => parseObjects(await textOf(name))
const specOf = (objects: readonly KubernetesObject[], kind: string, name: string) =>
  findObject(objects, kind, name).spec

describe('the examples', () => {
  it.each(['external-secrets.yaml', 'argo-cd.yaml', 'flux.yaml', 'cloudnative-pg.yaml'])(
    'are known in every field: %s',
    async (name) => {
      const objects = await objectsOf(name)
      expect(objects.length).toBeGreaterThanOrEqual(3)
      // What is given to the chart is its own to check, below.
      const problems = (await schemaProblemsOf(objects)).filter(
        (problem) => !/\/(valuesObject|values)\/.* is not known$/.test(problem)
      )
      expect(problems).toEqual([])
    }
  )

  it('refuse a field that is unknown, and a value that is none', async () => {
    const [store] = await objectsOf('external-secrets.yaml')
    expect(
      await schemaProblemsOf([{ ...store!, spec: { ...(store!.spec as object), retry: 1 } }])
    ).not.toEqual([])
    const [application] = await objectsOf('argo-cd.yaml')
    expect(await schemaProblemsOf([{ ...application!, spec: { project: 3 } }])).not.toEqual([])
    const release = findObject(await objectsOf('flux.yaml'), 'HelmRelease', 'open-payments')
    expect(
      await schemaProblemsOf([{ ...release, spec: { ...(release.spec as object), tests: {} } }])
    ).not.toEqual([])
  })

  it('order what Argo CD applies: the secrets, and then the services from the chart', async () => {
    const objects = await objectsOf('argo-cd.yaml')
    const waveOf = (name: string) =>
      Number(findObject(objects, 'Application', name).metadata.annotations?.['argocd.argoproj.io/sync-wave'])
    expect(waveOf('open-payments-secrets')).toBeLessThan(waveOf('open-payments-services'))
    const { source } = specOf(objects, 'Application', 'open-payments-services') as {
      source: { path: string }
    }
    expect(CHART).toMatch(new RegExp(`/${source.path}/$`))
  })

  it('order what Flux applies: the services depend on the secrets, and wait longer than a migration', async () => {
    const objects = await objectsOf('flux.yaml')
    expect(specOf(objects, 'Kustomization', 'open-payments-services')).toMatchObject({
      dependsOn: [{ name: 'open-payments-secrets' }]
    })
    // Without it, the secrets need only be applied.
    expect(specOf(objects, 'Kustomization', 'open-payments-secrets')).toMatchObject({ wait: true })
    const release = specOf(objects, 'HelmRelease', 'open-payments') as {
      timeout: string
      chart: { spec: { chart: string } }
    }
    expect(CHART).toMatch(new RegExp(`/${release.chart.spec.chart}/$`))
    expect(release.timeout).toMatch(/^\d+m$/)
    expect(Number.parseInt(release.timeout) * 60).toBeGreaterThan(1800)
  })
})

describeWithEachHelm('the examples', (chart) => {
  it('have every secret that the pods mount, with every key that they read', async () => {
    const secrets = new Map(
      (await objectsOf('external-secrets.yaml'))
        .filter(({ kind }) => kind === 'ExternalSecret')
        .map(({ spec }) => {
          const { target, data } = spec as { target: { name: string }; data: { secretKey: string }[] }
          return [target.name, data.map(({ secretKey }) => secretKey).sort()]
        })
    )
    const withPages = parse(await textOf('pages-values.yaml')) as object
    const objects = await chart.objects({ ...withPages, backup: { enabled: true } }, '--skip-tests')
    const read = new Map<string, string[]>()
    for (const { spec } of podsOf(objects).values()) {
      const [container] = spec.containers
      for (const { name, secret } of spec.volumes ?? []) {
        // cert-manager makes these.
        if (secret === undefined || secret.secretName.endsWith('-grpc')) continue
        const { mountPath } = container!.volumeMounts!.find((mount) => mount.name === name)!
        const files = (container!.env ?? []).flatMap(({ value }) =>
          value?.startsWith(`${mountPath}/`) === true ? [value.slice(mountPath.length + 1)] : []
        )
        read.set(secret.secretName, files.sort())
      }
    }
    // Its script makes the names of its files.
    read.set('backup', ['auth-server-database-url', 'resource-server-database-url'])
    expect(secrets).toEqual(read)
  })

  it('have values with which the chart is rendered', async () => {
    const argo = specOf(await objectsOf('argo-cd.yaml'), 'Application', 'open-payments-services') as {
      source: { helm: { valuesObject: unknown } }
    }
    const flux = specOf(await objectsOf('flux.yaml'), 'HelmRelease', 'open-payments') as { values: unknown }
    for (const given of [argo.source.helm.valuesObject, flux.values]) {
      expect(workloadsOf(await chart.objects(given))).toHaveLength(4)
    }
  })

  it('have databases that the pods reach, and whose authority they know', async () => {
    const databases = (await objectsOf('cloudnative-pg.yaml')).filter(({ kind }) => kind === 'Cluster')
    const values = parse(await textOf('cloudnative-pg-values.yaml')) as object
    const objects = await chart.objects(values, '--skip-tests')
    expect(await schemaProblemsOf(objects)).toEqual([])
    const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy')
    const egress = JSON.stringify(policies.map(({ spec }) => (spec as { egress?: unknown }).egress ?? []))
    for (const { metadata, spec } of databases) {
      expect(egress).toContain(metadata.name)
      expect(spec).toMatchObject({
        instances: 3,
        postgresql: { synchronous: { number: 1 } },
        certificates: { serverCASecret: 'database-authority' }
      })
    }
    expect(databases.map(({ metadata }) => metadata.name)).toEqual([
      'auth-server-database',
      'resource-server-database'
    ])
    for (const { spec } of podsOf(objects).values()) {
      // Not the key of the authority, which is in the same secret.
      const items = [{ key: 'ca.crt', path: 'ca.crt' }]
      expect(spec.volumes).toContainEqual({
        name: 'authorities',
        secret: { secretName: 'database-authority', defaultMode: 0o440, items }
      })
    }
  })

  it('let OpenShift choose users, and resolve names', async () => {
    const objects = await chart.objects(parse(await textOf('openshift-values.yaml')))
    expect(await schemaProblemsOf(objects)).toEqual([])
    const { spec } = (findObject(objects, 'Deployment', 'auth-server') as Workload).spec.template
    expect(spec.securityContext).toEqual({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
    const policies = JSON.stringify(objects.filter(({ kind }) => kind === 'NetworkPolicy'))
    const names = [...policies.matchAll(/"kubernetes\.io\/metadata\.name":"([^"]*)"/g)].map(
      ([, name]) => name
    )
    expect(names).toEqual(['openshift-dns'])
  })
})
