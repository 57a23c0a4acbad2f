import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, it } from '@jest/globals'
import {
  type Container,
  type KubernetesObject,
  parseObjects,
  renderOverlay,
  workloadsOf
} from '@open-payments-server/kubernetes'
import { parse, stringify } from 'yaml'
import { BASE, CHART, DASHBOARDS, LABELS_OF_HELM, renderBase, settingsDefinitions } from '../src/index.js'
import { describeWithEachHelm, EXAMPLES, keyOf, KUBECTL, schemaProblemsOf } from './rendering.js'
import { ADDED, CHANGED, CONSOLE, LEFT_OUT, PAGES } from './samples.js'

let values: unknown

beforeAll(async () => {
  values = parse(await readFile(join(CHART, 'values.yaml'), 'utf8'))
})

const REMEDY = '(else run: node infra/deploy/helm/scripts/write-derived.mjs)'

it(`offers the settings that the services read and the templates do not give ${REMEDY}`, async () => {
  const { definitions } = JSON.parse(await readFile(join(CHART, 'values.schema.json'), 'utf8')) as {
    definitions: Record<string, unknown>
  }
  const expected = settingsDefinitions(parseObjects(await readFile(BASE, 'utf8')))
  expect(definitions).toEqual({ ...definitions, ...expected })
})

it(`contains the dashboards ${REMEDY}`, async () => {
  const read = async (folder: string) => {
    const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort()
    return Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')]))
  }
  expect(await read(join(CHART, 'dashboards'))).toEqual(await read(DASHBOARDS))
})

describeWithEachHelm('the chart', (chart, helm) => {
  it('passes its own strict checks', async () => {
    expect(await chart.run('lint', '--strict', CHART)).toContain('1 chart(s) linted, 0 chart(s) failed')
  })

  it(`makes the base of the overlays ${REMEDY}`, async () => {
    expect(await renderBase(helm)).toBe(await readFile(BASE, 'utf8'))
  })

  it('renders to the overlay for production with the pages, object by object', async () => {
    const overlay = (await renderOverlay('production', KUBECTL)).filter(({ kind }) => kind !== 'Namespace')
    const withPages = parse(await readFile(join(EXAMPLES, 'pages-values.yaml'), 'utf8')) as unknown
    const objects = await chart.objects(withPages, '--skip-tests')
    expect(inOrder(objects.map(withoutLabelsOfHelm))).toEqual(inOrder(overlay))
  })

  it.each([
    ['its defaults', {}],
    ...CHANGED,
    ...LEFT_OUT.map(([what, given]) => [`all but ${what}`, given] as const),
    ...ADDED.map(([what, given]) => [what, given] as const)
  ])(
    'passes its strict checks and makes objects that are known in every field, with %s',
    async (_what, given) => {
      expect(await schemaProblemsOf(await chart.objects(given))).toEqual([])
      expect(
        await chart.run('lint', '--strict', CHART, '--values', join(chart.folder, 'values.json'))
      ).toContain('0 chart(s) failed')
    }
  )

  it('uses every value that it offers', async () => {
    // Replaces every value except switches, which are on.
    const places: string[] = []
    const marked = replaceLeaves(values, '', (value, path) => {
      if (typeof value === 'boolean') return true
      places.push(path)
      return markOf(value, `changed(${path})`)
    }) as { gateway: object }
    const text = await chart.text(marked, '--skip-schema-validation')
    // Only a Gateway of its own has a class.
    const own = { ...marked, gateway: { ...marked.gateway, parentRefs: [] } }
    const both = text + (await chart.text(own, '--skip-schema-validation'))
    expect(places.length).toBeGreaterThan(100)
    expect(places.filter((path) => !both.includes(`changed(${path})`))).toEqual([])
  })

  it.each(LEFT_OUT)('leaves out %s where it is not wanted', async (_what, given, expected) => {
    const left = (await chart.objects(given)).map(keyOf)
    const gone = (await chart.objects()).map(keyOf).filter((key) => !left.includes(key))
    expect(gone.sort()).toEqual(expected)
  })

  it.each(ADDED)('adds %s where it is wanted, and nothing else', async (_what, given, expected) => {
    const usual = (await chart.objects()).map(keyOf)
    const added = (await chart.objects(given)).map(keyOf).filter((key) => !usual.includes(key))
    expect(added.sort()).toEqual([...expected].sort())
  })

  it('is packaged with all that it reads', async () => {
    await chart.run('package', CHART, '--destination', chart.folder)
    const { version } = parse(await readFile(join(CHART, 'Chart.yaml'), 'utf8')) as { version: string }
    const given = { dashboards: { enabled: true }, backup: { enabled: true } }
    const packaged = await chart.textOf(join(chart.folder, `open-payments-${version}.tgz`), given)
    expect(packaged).toBe(await chart.text(given))
    expect(packaged).toContain('"title"')
  })

  it('says after an installation what is left to do', async () => {
    expect(await notesOf({})).toMatch(/at https:\/\/auth\.wallet\.example\//)
    const mentions = {
      '`ingress` and `gateway` are off': { ingress: { enabled: true } },
      'still those of the documentation': undefined,
      'Nothing audits': { audit: { enabled: true } },
      'Nothing here backs': { backup: { enabled: true } },
      'CONSENT_PROOF is none': PAGES
    }
    for (const [mention, given] of Object.entries(mentions)) {
      expect(await notesOf({})).toContain(mention)
      if (given !== undefined) expect(await notesOf(given)).not.toContain(mention)
    }
    expect(await notesOf(CONSOLE)).toMatch(/deployment\/console[^]*The console is for a private network/)
    expect(await notesOf({ networkPolicies: { enabled: false } })).toContain('no network policies')
    expect(await notesOf({ ingress: { enabled: true } })).toContain('Peers are not let in')
  })

  /** The notes, which Helm only prints after an installation: a copy of the chart makes an object of them. */
  async function notesOf(given: unknown): Promise<string> {
    const copy = await parentOf('copy', 'true')
    const template = join(copy, 'charts', 'open-payments', 'templates', 'notes.yaml')
    await writeFile(
      template,
      `kind: Notes\nmetadata: {name: notes}\ntext: {{ include (print .Template.BasePath "/NOTES.txt") . | quote }}\n`
    )
    const objects = parseObjects(await chart.textOf(join(copy, 'charts', 'open-payments'), given))
    return String(objects.find(({ kind }) => kind === 'Notes')?.text)
  }

  it('is part of a parent chart, which switches it on and off', async () => {
    const parent = await parentOf('parent', 'open-payments.enabled')
    const inside = (given: object) => ({ 'open-payments': given })
    const usual = (await chart.objects()).map(keyOf).sort()
    expect(
      parseObjects(await chart.textOf(parent))
        .map(keyOf)
        .sort()
    ).toEqual(usual)
    expect(parseObjects(await chart.textOf(parent, inside({ enabled: false })))).toEqual([])
    const given = {
      trustDomain: 'payments.example',
      podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null },
      dashboards: { enabled: true }
    }
    const below = await chart.textOf(parent, { global: { region: 'eu' }, ...inside(given) })
    expect(parseObjects(below)).toEqual(await chart.objects(given))
    expect(below).not.toContain('runAsUser')
    await expect(chart.textOf(parent, inside({ trustDomains: 'payments.example' }))).rejects.toThrow(
      'trustDomains'
    )
  })

  /** A chart in a temporary folder that has this one as its part. */
  async function parentOf(name: string, condition: string): Promise<string> {
    const folder = join(chart.folder, name)
    await copyFolder(CHART, join(folder, 'charts', 'open-payments'))
    const { version } = parse(await readFile(join(CHART, 'Chart.yaml'), 'utf8')) as { version: string }
    const dependencies = [{ name: 'open-payments', version, condition }]
    await writeFile(
      join(folder, 'Chart.yaml'),
      stringify({ apiVersion: 'v2', name: 'parent', version: '1.0.0', dependencies })
    )
    return folder
  }
})

async function copyFolder(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true })
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    await (entry.isDirectory() ? copyFolder(source, target) : copyFile(source, target))
  }
}

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

/** A replacement for a value: in a list or an object if it is one, and a URL for a URL. */
function markOf(value: unknown, word: string): unknown {
  if (Array.isArray(value)) return [{ name: word }]
  if (typeof value === 'string' && value.startsWith('https://')) return `https://${word}`
  return typeof value === 'object' ? { mark: word } : word
}
