import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { createLogger } from '@open-payments-server/runtime'
import { scrapeMetrics } from '@open-payments-server/testing'
import { Metrics, type RunningMetricsServer, startMetricsServer } from '../../src/metrics/index.js'

const logger = createLogger({ service: 'test', level: 'silent' })
let metrics: Metrics
let server: RunningMetricsServer

beforeEach(async () => {
  metrics = new Metrics({ logger, readTimeoutMs: 100 })
  server = await startMetricsServer(metrics, { host: '127.0.0.1', port: 0, logger })
})
afterEach(() => server.stop())

const ask = (path: string, method = 'GET') => fetch(`http://127.0.0.1:${server.port}${path}`, { method })
const scrape = () => scrapeMetrics(server.port)

describe('the metrics server', () => {
  it("answers GET /metrics in Prometheus' text format, with the process metrics", async () => {
    const response = await ask('/metrics?name=any')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
    const text = await response.text()
    expect(text).toContain('# TYPE process_cpu_seconds_total counter')
    expect(text).toContain('# TYPE nodejs_eventloop_lag_seconds gauge')
  })

  it('answers nothing else', async () => {
    expect((await ask('/')).status).toBe(404)
    expect((await ask('/metrics/')).status).toBe(404)
    const posted = await ask('/metrics', 'POST')
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })
})

describe('counters', () => {
  it('begin at 0 for every value of their label, and count', async () => {
    const count = metrics.addCounters({ name: 'answers_total', help: 'Answers.' }, 'kind', ['yes', 'no'])
    const countAll = metrics.addCounter({ name: 'questions_total', help: 'Questions.' })
    const before = await scrape()
    expect(before.text).toContain('# HELP answers_total Answers.\n# TYPE answers_total counter\n')
    expect(before.at('answers_total{kind="yes"}')).toBe(0)
    expect(before.at('questions_total')).toBe(0)
    count('yes')
    count('yes', 2)
    countAll()
    const after = await scrape()
    expect(after.at('answers_total{kind="yes"}')).toBe(3)
    expect(after.at('answers_total{kind="no"}')).toBe(0)
    expect(after.at('questions_total')).toBe(1)
  })
})

describe('gauges', () => {
  const gauges = {
    age: { name: 'oldest_age_seconds', help: 'Age.' },
    count: { name: 'waiting', help: 'Waiting.' }
  }
  const up = 'open_payments_metrics_source_up{source="outcomes"}'

  it('are read at every scrape, all with one query', async () => {
    let questions = 0
    metrics.addGauges({
      name: 'outcomes',
      gauges,
      read: () => {
        questions += 1
        return Promise.resolve({ age: questions / 2, count: questions })
      }
    })
    await scrape()
    const second = await scrape()
    expect([second.at('oldest_age_seconds'), second.at('waiting'), second.at(up)]).toEqual([1, 2, 1])
  })

  it('are omitted while their source fails, and return afterwards', async () => {
    let fails = true
    metrics.addGauges({
      name: 'outcomes',
      gauges,
      read: () => (fails ? Promise.reject(new Error('no database')) : Promise.resolve({ age: 1, count: 1 }))
    })
    metrics.addGauges({
      name: 'other',
      gauges: { size: { name: 'other_size', help: 'Size.' } },
      read: () => Promise.resolve({ size: 7 })
    })
    const failed = await scrape()
    expect([failed.at('oldest_age_seconds'), failed.at('waiting'), failed.at(up)]).toEqual([
      undefined,
      undefined,
      0
    ])
    expect(failed.at('other_size')).toBe(7)
    fails = false
    const restored = await scrape()
    expect([restored.at('waiting'), restored.at(up)]).toEqual([1, 1])
  })

  it('are omitted when their source is too slow, which is not queried again meanwhile', async () => {
    type Values = Record<keyof typeof gauges, number>
    const answers: ((values: Values) => void)[] = []
    metrics.addGauges({
      name: 'outcomes',
      gauges,
      read: () => new Promise<Values>((resolve) => answers.push(resolve))
    })
    const [one, other] = await Promise.all([scrape(), scrape()])
    for (const text of [one, other, await scrape()]) {
      expect([text.at('waiting'), text.at(up)]).toEqual([undefined, 0])
    }
    expect(answers).toHaveLength(1)
    answers[0]?.({ age: 1, count: 1 })
    const later = scrape()
    while (answers.length < 2) await new Promise(setImmediate)
    answers[1]?.({ age: 2, count: 5 })
    expect((await later).at('waiting')).toBe(5)
  })
})
