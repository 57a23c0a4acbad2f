import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from '@jest/globals'
import {
  type Container,
  containerOf,
  findObject,
  hasKubectl,
  type KubernetesObject,
  renderOverlay,
  type Workload,
  workloadsOf
} from '@open-payments-server/kubernetes'
import { Ajv, type ValidateFunction } from 'ajv'
import { parse } from 'yaml'
import { makeChart, type Values } from '../src/index.js'
import { renderTemplate, renderTemplates } from './render-chart.js'

if (!hasKubectl())
  console.log('skipped: kubectl is not installed, so the chart cannot be compared with the overlay')
const itWithKubectl = hasKubectl() ? it : it.skip

const CHART = fileURLToPath(new URL('../open-payments/', import.meta.url))
const NAMESPACE = 'open-payments'

let templates: string[]
let values: Values
let schema: object

const read = (path: string) => readFile(join(CHART, path), 'utf8')
const scopeOf = (changed: unknown) => ({ Values: changed, Release: { Namespace: NAMESPACE } })
const render = (changed: unknown = values) => renderTemplates(templates, scopeOf(changed))
const renderText = (changed: unknown = values) =>
  templates.map((template) => renderTemplate(template, scopeOf(changed))).join('')

beforeAll(async () => {
  const names = (await readdir(join(CHART, 'templates'))).filter((name) => name.endsWith('.yaml'))
  templates = await Promise.all(names.map((name) => read(`templates/${name}`)))
  values = parse(await read('values.yaml'))
  schema = JSON.parse(await read('values.schema.json'))
})

describe('the chart', () => {
  itWithKubectl(
    'is what the overlay makes it (else run: node infra/helm/scripts/write-chart.mjs)',
    async () => {
      for (const [path, text] of Object.entries(makeChart(await renderOverlay('production')))) {
        expect([path, await read(path)]).toEqual([path, text])
      }
    }
  )

  itWithKubectl('renders to the overlay for production, object by object', async () => {
    const overlay = (await renderOverlay('production')).filter(({ kind }) => kind !== 'Namespace')
    expect(inOrder(render())).toEqual(inOrder(overlay))
  })

  it('uses every value that it offers', () => {
    const before = renderText()
    for (const path of leavesOf(values)) {
      const changed = structuredClone(values)
      change(changed, path)
      expect([path, renderText(changed) === before]).toEqual([path, false])
    }
  })

  it('hands settings on as they are, whatever they are', () => {
    const changed = structuredClone(values) as { resourceServer: { settings: Record<string, string> } }
    changed.resourceServer.settings.FEES = 'USD=10+50,"EUR"={{ 0 }}: #\n'
    const deployment = findObject(render(changed), 'Deployment', 'resource-server') as Workload
    expect(containerOf(deployment).env).toContainEqual({
      name: 'FEES',
      value: changed.resourceServer.settings.FEES
    })
  })

  it('leaves out its own authority and the ServiceMonitor where they are not wanted', () => {
    const names = (objects: KubernetesObject[]) =>
      objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    const changed = structuredClone(values) as Record<string, Record<string, unknown>>
    changed.certificates!.createAuthority = false
    changed.serviceMonitor!.enabled = false
    const left = names(render(changed))
    expect(new Set(names(render()).filter((name) => !left.includes(name)))).toEqual(
      new Set([
        'Issuer open-payments-self-signed',
        'Certificate open-payments-grpc-authority',
        'Issuer open-payments-grpc',
        'ServiceMonitor open-payments'
      ])
    )
  })
})

describe('the schema of its values', () => {
  let validate: ValidateFunction

  beforeAll(() => {
    validate = new Ajv().compile(schema)
  })

  const problemsOf = (changed: unknown): unknown[] => (validate(changed) ? [] : (validate.errors ?? []))

  it('takes the defaults, and whatever Helm adds', () => {
    expect(problemsOf(values)).toEqual([])
    expect(problemsOf({ ...values, global: {} })).toEqual([])
  })

  it.each<[string, string, unknown]>([
    ['a setting that is none', 'authServer.settings.PUBLIC_ULR', 'https://auth.wallet.example/'],
    ['a secret in plain sight', 'authServer.settings.IDENTITY_PROVIDER_SECRET', 'hG7tYw3KdM9sZq4B'],
    ['a setting that is no text', 'authServer.settings.ACCESS_TOKEN_LIFETIME_SECONDS', 600],
    ['another port than the Service knows', 'authServer.settings.HTTP_PORT', '8080'],
    ['a required setting left out', 'resourceServer.settings.PUBLIC_URL', undefined],
    ['an image without a version', 'authServer.image.tag', 'latest'],
    ['no limits', 'authServer.resources.limits', undefined],
    ['everybody in a network policy', 'networkPolicies.metrics', []],
    ['a value that is none', 'authServer.replicas', 3]
  ])('refuses %s', (_what, path, value) => {
    const changed = structuredClone(values)
    const names = path.split('.')
    const place = names.slice(0, -1).reduce<Values>((within, name) => within[name] as Values, changed)
    place[names.at(-1)!] = value
    expect(problemsOf(JSON.parse(JSON.stringify(changed)))).not.toEqual([])
  })
})

/** The same objects in one order, with the variables of containers by name: their order has no meaning. */
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

function leavesOf(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [path]
  return Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, [...path, name]))
}

function change(changed: Values, path: readonly string[]): void {
  const place = path.slice(0, -1).reduce<Values>((within, name) => within[name] as Values, changed)
  const name = path.at(-1)!
  place[name] = typeof place[name] === 'boolean' ? !place[name] : 'changed'
}
