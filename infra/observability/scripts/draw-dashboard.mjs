// Draws a dashboard from its JSON: asks a running Prometheus every query of every panel, fails for one that it does not
// understand, and for one without data that should have some, and takes a picture of the answers with Chromium. It is not
// Grafana that draws.
//
//   node infra/observability/scripts/draw-dashboard.mjs overview http://127.0.0.1:9090 docs/images/dashboard.png
//
// CHROMIUM_PATH says where Chromium is, DRAW_MINUTES how far back to look (10).
import { readFile } from 'node:fs/promises'
import { URLSearchParams } from 'node:url'
import { chromium } from 'playwright-core'
import { renderDashboard } from './render-dashboard.mjs'

const [name = 'overview', prometheus = 'http://127.0.0.1:9090', picture] = process.argv.slice(2)
const minutes = Number(process.env.DRAW_MINUTES ?? 10)
const WINDOW = '1m'
const STEPS = 180
/** Queries that have an answer only when something is wrong, or is switched on. */
const MAY_BE_EMPTY = /rate_limited_total|grpc_client_retries_total/

const file = new URL(`../dashboards/${name}.json`, import.meta.url)
const dashboard = JSON.parse(await readFile(file, 'utf8'))
const end = Math.floor(Date.now() / 1_000)
const start = end - minutes * 60
const answers = new Map()
const problems = []

for (const panel of dashboard.panels.filter(({ type }) => type !== 'row')) {
  const lines = []
  for (const target of panel.targets) {
    const series = await query(target.expr).catch((error) => {
      problems.push(`${panel.title}: ${error.message}`)
      return []
    })
    if (series.length === 0 && !MAY_BE_EMPTY.test(target.expr))
      problems.push(`${panel.title}: no data for ${target.expr}`)
    lines.push(...series.map((one) => ({ ...one, name: nameOf(one.metric, target.legendFormat) })))
  }
  answers.set(panel.id, lines)
}

for (const problem of problems) console.error(problem)
console.log(`${answers.size} panels, ${problems.length} problems`)
if (picture !== undefined) await draw(renderDashboard(dashboard, answers, { start, end }), picture)
process.exit(problems.length === 0 ? 0 : 1)

async function query(expr) {
  const parameters = new URLSearchParams({
    query: expr.replaceAll('$__rate_interval', WINDOW),
    start: String(start),
    end: String(end),
    step: String((minutes * 60) / STEPS)
  })
  const response = await fetch(`${prometheus}/api/v1/query_range?${parameters}`)
  const { status, error, data } = await response.json()
  if (status !== 'success') throw new Error(error)
  return data.result.map(({ metric, values }) => ({
    metric,
    points: values.map(([at, value]) => ({ at, value: Number(value) })).filter(({ value }) => !isNaN(value))
  }))
}

function nameOf(metric, legend) {
  return legend.replace(/\{\{(\w+)\}\}/g, (_whole, label) => metric[label] ?? '')
}

async function draw(html, path) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu']
  })
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  await page.setContent(html)
  await page.screenshot({ path, fullPage: true })
  await browser.close()
}
