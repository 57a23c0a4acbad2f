import { execFile, spawnSync } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { readDocumentedMetrics } from '@open-payments-server/testing'
import { parse, parseAllDocuments } from 'yaml'
import { DASHBOARDS, toGrafana } from '../src/index.js'

interface Rule {
  readonly alert?: string
  readonly record?: string
  readonly expr: string
  readonly labels?: { readonly severity?: string; readonly objective?: string }
  readonly annotations?: Readonly<Record<string, string>>
}
interface WrittenPanel {
  readonly type: string
  readonly title: string
  readonly targets?: readonly { readonly expr: string; readonly datasource: { readonly uid: string } }[]
}
interface WrittenDashboard {
  readonly uid: string
  readonly title: string
  readonly schemaVersion: number
  readonly panels: readonly WrittenPanel[]
}

const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const RULES = pathOf('../../helm/open-payments/rules/open-payments.rules.yaml')
const RULE_TESTS = pathOf('open-payments.rules.test.yaml')
const RUNBOOKS = pathOf('../../../../docs/runbooks/')
/** Runbooks for what no alert tells of. */
const WITHOUT_ALERT = ['Recovery.md']
/** Metrics of Prometheus itself, of every Node process and of kube-state-metrics, with the labels that Prometheus adds. */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  up: [],
  ALERTS: ['alertname', 'alertstate', 'severity'],
  process_start_time_seconds: [],
  process_cpu_seconds_total: [],
  process_resident_memory_bytes: [],
  nodejs_heap_size_used_bytes: [],
  nodejs_eventloop_lag_p50_seconds: [],
  nodejs_eventloop_lag_p99_seconds: [],
  kube_cronjob_created: ['namespace', 'cronjob'],
  kube_cronjob_status_active: ['namespace', 'cronjob'],
  kube_cronjob_status_last_schedule_time: ['namespace', 'cronjob'],
  kube_cronjob_status_last_successful_time: ['namespace', 'cronjob']
}
/** The recording rule that has the target of each objective. */
const TARGET = 'objective:open_payments_target:ratio'
const hasPromtool = spawnSync('promtool', ['--version']).status === 0
if (!hasPromtool) console.log('skipped: promtool is not installed, so that rules are not evaluated')

let rules: Rule[]
let alerts: Rule[]
let dashboards: WrittenDashboard[]
/** Labels by metric, histograms by each of their series. */
let known: Map<string, readonly string[]>

beforeAll(async () => {
  const { groups } = parse(await readFile(RULES, 'utf8')) as { groups: { rules: Rule[] }[] }
  rules = groups.flatMap((group) => group.rules)
  alerts = rules.filter(({ alert }) => alert !== undefined)
  dashboards = await Promise.all(
    Object.keys(DASHBOARDS).map(
      async (name) =>
        JSON.parse(await readFile(pathOf(`../dashboards/${name}.json`), 'utf8')) as WrittenDashboard
    )
  )
  const documented = await Promise.all([
    readDocumentedMetrics('auth-server'),
    readDocumentedMetrics('resource-server')
  ])
  known = new Map([
    ...Object.entries(OTHERS),
    ...rules.flatMap(({ record }) => (record === undefined ? [] : [[record, ['objective']] as const])),
    ...documented
      .flat()
      .flatMap(({ name, type, labels }) =>
        type === 'histogram'
          ? [
              [`${name}_bucket`, [...labels, 'le']] as const,
              [`${name}_count`, labels] as const,
              [`${name}_sum`, labels] as const
            ]
          : [[name, labels] as const]
      )
  ])
})

/** @returns the target of an objective in percent, as exact as it is written */
function readTargetPercent(expr: string): number {
  const [, ratio] = /^vector\(([\d.]+)\)$/.exec(expr) ?? []
  return Number((100 * Number(ratio)).toPrecision(6))
}

/** Metrics and labels in a query that nothing publishes. */
function findUnknown(expr: string): string[] {
  const selectors = expr.matchAll(/\b([a-z_\d]+(?::\w+:\w+)?|ALERTS)(?:\{([^}]*)\})?(?=[[\s)<>=/*-]|$)/g)
  const found = [...selectors].filter(([, name = '']) =>
    /^(open_|nodejs_|process_|kube_|objective:|up$|ALERTS)/.test(name)
  )
  if (found.length === 0) return [`no metric in ${expr}`]
  const names = found.map(([, name = '']) => name)
  const labels = new Set(['job', 'instance', ...names.flatMap((name) => known.get(name) ?? [])])
  const conditions = found.flatMap(([, name = '', inside = '']) =>
    [...inside.matchAll(/(\w+)\s*[=!]~?/g)]
      .map(([, label = '']) => label)
      .filter((label) => !['job', 'instance', ...(known.get(name) ?? [])].includes(label))
      .map((label) => `${name} has no label ${label}`)
  )
  const groupings = [...expr.matchAll(/\bby \(([^)]*)\)/g)]
    .flatMap(([, inside = '']) => inside.split(',').map((label) => label.trim()))
    .filter((label) => !labels.has(label))
    .map((label) => `nothing has the label ${label}`)
  return [
    ...names.filter((name) => !known.has(name)).map((name) => `there is no ${name}`),
    ...conditions,
    ...groupings
  ]
}

describe('the alerts', () => {
  it('ask for metrics and labels that are documented, and no others', () => {
    expect(alerts.length).toBeGreaterThan(15)
    const measured = rules.filter(({ record }) => record !== TARGET)
    expect(measured.flatMap(({ expr }) => findUnknown(expr))).toEqual([])
  })

  it('have the objectives of the document, with its targets', async () => {
    const page = await readFile(pathOf('../../../../docs/service-levels.md'), 'utf8')
    const documented = [...page.matchAll(/^\| `([\w-]+)` .*\| (\d+(?:\.\d+)?) % +\|/gm)].map(
      ([, objective, percent]) => [objective, Number(percent)]
    )
    const targets = rules
      .filter(({ record }) => record === TARGET)
      .map(({ expr, labels }) => [labels?.objective, readTargetPercent(expr)])
    expect(documented).toEqual(targets)
    const runbook = await readFile(`${RUNBOOKS}ErrorBudgetFast.md`, 'utf8')
    const sections = [...runbook.matchAll(/^### (.*)$/gm)].flatMap(([, names = '']) => names.split(', '))
    expect(sections.sort()).toEqual(targets.map(([objective]) => objective).sort())
    for (const record of [
      'objective:open_payments_measured:rate5m',
      'objective:open_payments_missed:rate5m'
    ]) {
      const recorded = rules.filter((rule) => rule.record === record).map(({ labels }) => labels?.objective)
      expect(recorded).toEqual(targets.map(([objective]) => objective))
    }
  })

  it('each state severity, summary and runbook', () => {
    for (const { alert = '', labels, annotations } of alerts) {
      expect(labels?.severity).toMatch(/^(critical|warning)$/)
      expect(annotations?.summary).toMatch(/\S/)
      expect(annotations?.description).toMatch(/\.$/)
      expect(annotations?.runbook_url).toBe(`https://runbooks.example/${alert}.md`)
    }
  })

  it('have one runbook each', async () => {
    const pages = (await readdir(RUNBOOKS)).filter((name) => name !== 'README.md')
    const ofAlerts = alerts.map(({ alert = '' }) => `${alert}.md`)
    expect(pages.sort()).toEqual([...ofAlerts, ...WITHOUT_ALERT].sort())
    const contents = await readFile(`${RUNBOOKS}README.md`, 'utf8')
    for (const page of pages) {
      const text = await readFile(RUNBOOKS + page, 'utf8')
      expect(text.match(/^## .*$/gm)).toEqual(['## What it means', '## How to look', '## What to do'])
      expect(contents).toContain(`(${page})`)
      for (const [, linked = ''] of text.matchAll(/\]\((\w+\.md)\)/g)) expect(pages).toContain(linked)
    }
  })

  it('are each tested with series that fire them and series that do not', async () => {
    const { tests } = parse(await readFile(RULE_TESTS, 'utf8')) as { tests: { name: string }[] }
    const names = tests.map(({ name }) => name)
    for (const { alert = '' } of alerts) {
      expect(names).toContain(`${alert} fires`)
      expect(names).toContain(`${alert} stays quiet`)
    }
  })

  const itWithPromtool = hasPromtool ? it : it.skip
  itWithPromtool(
    'are rules that Prometheus takes, and fire when they should',
    async () => {
      const run = promisify(execFile)
      await run('promtool', ['check', 'rules', RULES])
      await run('promtool', ['test', 'rules', RULE_TESTS])
    },
    300_000
  )
})

describe('Kubernetes', () => {
  it('gets the same rules', async () => {
    const base = await readFile(pathOf('../../kubernetes/base/open-payments.yaml'), 'utf8')
    const objects = parseAllDocuments(base).map(
      (document) => document.toJS() as { kind: string; spec: unknown }
    )
    const spec: unknown = parse(await readFile(RULES, 'utf8'))
    expect(objects).toContainEqual(expect.objectContaining({ kind: 'PrometheusRule', spec }))
  })

  it('gets every dashboard, in an optional component', async () => {
    const component = parse(await readFile(pathOf('../dashboards/kustomization.yaml'), 'utf8')) as {
      configMapGenerator: [{ files: string[]; options: { labels: Record<string, string> } }]
    }
    const [{ files, options }] = component.configMapGenerator
    expect(files.sort()).toEqual(
      Object.keys(DASHBOARDS)
        .map((name) => `${name}.json`)
        .sort()
    )
    expect(options.labels.grafana_dashboard).toBe('1')
  })
})

describe('the dashboards', () => {
  it('are exactly the output of scripts/write-dashboards.mjs', async () => {
    const expected = Object.values(DASHBOARDS).map((dashboard) => toGrafana(dashboard))
    expect(dashboards).toEqual(JSON.parse(JSON.stringify(expected)))
    const files = await readdir(pathOf('../dashboards'))
    expect(files.filter((name) => name.endsWith('.json')).sort()).toEqual(
      Object.keys(DASHBOARDS)
        .map((name) => `${name}.json`)
        .sort()
    )
  })

  it('ask for metrics and labels that are documented, and no others', () => {
    const queries = panelsOf(dashboards).flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    expect(queries.length).toBeGreaterThan(40)
    expect(queries.flatMap(findUnknown)).toEqual([])
  })

  it('have unique names, a query in each panel, and use the selected Prometheus', () => {
    for (const key of ['uid', 'title'] as const) {
      expect(new Set(dashboards.map((dashboard) => dashboard[key])).size).toBe(dashboards.length)
    }
    for (const dashboard of dashboards) {
      const panels = panelsOf([dashboard])
      expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length)
      for (const { targets = [] } of panels) {
        expect(targets.length).toBeGreaterThan(0)
        for (const { datasource } of targets) expect(datasource.uid).toBe('${datasource}')
      }
    }
  })
})

function panelsOf(written: readonly WrittenDashboard[]): WrittenPanel[] {
  return written.flatMap(({ panels }) => panels.filter(({ type }) => type !== 'row'))
}
