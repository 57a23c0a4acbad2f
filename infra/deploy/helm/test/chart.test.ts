import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  type Container,
  containerOf,
  findObject,
  findSchemaProblems,
  findTools,
  type KubernetesObject,
  parseObjects,
  renderOverlay,
  type Workload,
  workloadsOf
} from '@open-payments-server/kubernetes'
import { parse } from 'yaml'
import { BASE, CHART, LABELS_OF_HELM, renderBase, runHelm, settingsDefinitions } from '../src/index.js'

const NAMESPACE = 'open-payments'

const found = await findTools()
if (typeof found === 'string')
  console.log(`skipped: no Helm can be had, so the chart is not rendered: ${found}`)
const describeHelms = typeof found === 'string' ? describe.skip : describe
const { helms, kubectl } =
  typeof found === 'string' ? { helms: [{ name: 'helm', path: 'helm' }], kubectl: 'kubectl' } : found

/** The optional parts, and the objects that belong to each. */
const TOGGLES: readonly [string, unknown, readonly string[]][] = [
  [
    'its own authority',
    { certificates: { createAuthority: false } },
    [
      'Certificate open-payments-grpc-authority',
      'Issuer open-payments-grpc',
      'Issuer open-payments-self-signed'
    ]
  ],
  ['the ServiceMonitor', { serviceMonitor: { enabled: false } }, ['ServiceMonitor open-payments']],
  ['the alerts', { prometheusRule: { enabled: false } }, ['PrometheusRule open-payments']]
]
const OF_PODS = {
  podAnnotations: { 'prometheus.io/scrape': 'true' },
  podLabels: { team: 'payments' },
  priorityClassName: 'high',
  nodeSelector: { 'kubernetes.io/arch': 'amd64' },
  affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
  tolerations: [{ key: 'payments', operator: 'Exists' }]
}
const FOR_PODS = {
  imagePullSecrets: [{ name: 'registry' }],
  authServer: OF_PODS,
  resourceServer: OF_PODS
}

let values: unknown
let directory: string

beforeAll(async () => {
  values = parse(await readFile(join(CHART, 'values.yaml'), 'utf8'))
  directory = await mkdtemp(join(tmpdir(), 'chart-'))
})
afterAll(async () => {
  await rm(directory, { recursive: true })
})

const REMEDY = '(else run: node infra/deploy/helm/scripts/write-derived.mjs)'

it(`offers the settings that the services read and the templates do not give ${REMEDY}`, async () => {
  const { definitions } = JSON.parse(await readFile(join(CHART, 'values.schema.json'), 'utf8')) as {
    definitions: Record<string, unknown>
  }
  const expected = settingsDefinitions(parseObjects(await readFile(BASE, 'utf8')))
  expect(definitions).toEqual({ ...definitions, ...expected })
})

describeHelms.each(helms)('the chart, read by $name', (helm) => {
  /** The objects that are installed with these values over the defaults. */
  async function renderText(given: unknown = {}, ...options: string[]): Promise<string> {
    const file = join(directory, `${helm.name}.json`)
    await writeFile(file, JSON.stringify(given))
    const words = ['template', 'open-payments', CHART, '--namespace', NAMESPACE, '--values', file, ...options]
    return runHelm(helm, words)
  }
  const render = async (given?: unknown) => parseObjects(await renderText(given))

  it('passes its own strict checks', async () => {
    expect(await runHelm(helm, ['lint', '--strict', CHART])).toContain('1 chart(s) linted, 0 chart(s) failed')
  })

  it(`makes the base of the overlays ${REMEDY}`, async () => {
    expect(await renderBase(helm)).toBe(await readFile(BASE, 'utf8'))
  })

  it('renders to the overlay for production, object by object', async () => {
    const overlay = (await renderOverlay('production', kubectl)).filter(({ kind }) => kind !== 'Namespace')
    expect(inOrder((await render()).map(withoutLabelsOfHelm))).toEqual(inOrder(overlay))
  })

  it.each([
    ['its defaults', {}],
    ['everything for pods', FOR_PODS],
    ...TOGGLES.map(([what, given]) => [`all but ${what}`, given] as const)
  ])('makes objects that are known in every field, with %s', async (_what, given) => {
    const problems: string[] = []
    // One after the other, because jest cannot load a module twice at once.
    for (const object of await render(given)) {
      for (const problem of await findSchemaProblems(object)) problems.push(`${keyOf(object)}: ${problem}`)
    }
    expect(problems).toEqual([])
  })

  it('applies pod values to every pod', async () => {
    const { podLabels: labels, podAnnotations: annotations, ...spec } = OF_PODS
    const workloads = workloadsOf(await render(FOR_PODS))
    expect(workloads).toHaveLength(4)
    for (const {
      spec: { template }
    } of workloads) {
      const { imagePullSecrets } = FOR_PODS
      expect(template).toMatchObject({
        metadata: { labels, annotations },
        spec: { ...spec, imagePullSecrets }
      })
    }
  })

  it('uses every value that it offers', async () => {
    // Replaces every value except switches, which have their own test.
    const places: string[] = []
    const marked = replaceLeaves(values, '', (value, path) => {
      if (typeof value === 'boolean') return value
      places.push(path)
      return markOf(value, `changed(${path})`)
    })
    const text = await renderText(marked, '--skip-schema-validation')
    expect(places.length).toBeGreaterThan(30)
    for (const path of places) expect(text).toContain(`changed(${path})`)
  })

  it('passes settings unchanged', async () => {
    const FEES = 'USD=10+50,"EUR"={{ 0 }}: <#>&\n'
    const objects = await render({ resourceServer: { settings: { FEES } } })
    const deployment = findObject(objects, 'Deployment', 'resource-server') as Workload
    expect(containerOf(deployment).env).toContainEqual({ name: 'FEES', value: FEES })
  })

  it.each(TOGGLES)('leaves out %s where it is not wanted', async (_what, given, expected) => {
    const left = (await render(given)).map(keyOf)
    const gone = (await render()).map(keyOf).filter((key) => !left.includes(key))
    expect(gone.sort()).toEqual(expected)
  })

  it('accepts versions with a digest, and the values of parent charts', async () => {
    const tag = `v1.2.0-rc.1@sha256:${'0a'.repeat(32)}`
    expect(await renderText({ global: {}, authServer: { image: { tag } } })).toContain(tag)
  })

  it.each<[string, string, unknown]>([
    ['a setting that is none', 'authServer.settings.PUBLIC_ULR', 'https://auth.wallet.example/'],
    ['a secret in plain sight', 'authServer.settings.IDENTITY_PROVIDER_SECRET', 'hG7tYw3KdM9sZq4B'],
    ['a setting that is no text', 'authServer.settings.ACCESS_TOKEN_LIFETIME_SECONDS', 600],
    ['another port than the Service knows', 'authServer.settings.HTTP_PORT', '8080'],
    ['a required setting left out', 'resourceServer.settings.PUBLIC_URL', null],
    ['an image without a version', 'authServer.image.tag', 'latest'],
    [
      'an image with a digest but without a version',
      'authServer.image.tag',
      `latest@sha256:${'0a'.repeat(32)}`
    ],
    ['no limits', 'authServer.resources.limits', null],
    ['everybody in a network policy', 'networkPolicies.metrics', []],
    ['a label that selects', 'authServer.podLabels', { 'app.kubernetes.io/name': 'mine' }],
    ['a value that is none', 'authServer.replicas', 3]
  ])('refuses %s, and names it', async (_what, path, value) => {
    const given = path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value)
    const refusal = await renderText(given).then(
      () => 'nothing was refused',
      (error: unknown) => (error as { stderr: string }).stderr
    )
    expect(refusal).toContain("values don't meet the specifications of the schema(s)")
    for (const name of path.split('.')) expect(refusal).toContain(name)
  })
})

/** The same objects, sorted, with the variables of containers by name, because their order has no meaning. */
function inOrder(objects: readonly KubernetesObject[]): KubernetesObject[] {
  const sorted = structuredClone([...objects]).sort((left, right) => (keyOf(left) < keyOf(right) ? -1 : 1))
  for (const workload of workloadsOf(sorted)) {
    const { containers } = workload.spec.template.spec as { containers: Container[] }
    for (const { env = [] } of containers)
      (env as { name: string }[]).sort((a, b) => (a.name < b.name ? -1 : 1))
  }
  return sorted
}

function keyOf({ kind, metadata }: KubernetesObject): string {
  return `${kind} ${metadata.name}`
}

/** The same object, as installed without Helm. */
function withoutLabelsOfHelm(object: KubernetesObject): KubernetesObject {
  const labels = { ...object.metadata.labels }
  for (const label of LABELS_OF_HELM) {
    expect(labels).toHaveProperty([label])
    Reflect.deleteProperty(labels, label)
  }
  return { ...object, metadata: { ...object.metadata, labels } }
}

/** The same values with other leaves. Lists and empty values are leaves. */
function replaceLeaves(
  value: unknown,
  path: string,
  replace: (value: unknown, path: string) => unknown
): unknown {
  const inner =
    typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : []
  if (inner.length === 0) return replace(value, path)
  return Object.fromEntries(
    inner.map(([name, leaf]) => [name, replaceLeaves(leaf, path === '' ? name : `${path}.${name}`, replace)])
  )
}

/** A replacement for a value; in a list or an object if it is one. */
function markOf(value: unknown, word: string): unknown {
  if (Array.isArray(value)) return [word]
  return typeof value === 'object' ? { mark: word } : word
}
