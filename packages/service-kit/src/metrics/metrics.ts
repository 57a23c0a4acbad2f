import type { Logger } from '@open-payments-server/runtime'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { MeasuredSource } from './measured-source.js'
import type { MetricDescription } from './metric-description.js'

/** Something that is asked for the values of some gauges whenever they are scraped. */
export interface GaugeSource<Key extends string> {
  /** What it is called in `open_payments_metrics_source_up`. */
  readonly name: string
  readonly gauges: Readonly<Record<Key, MetricDescription>>
  /** Reads the values of all its gauges at once. Never runs twice at a time. */
  read(): Promise<Readonly<Record<Key, number>>>
}

/** How long a source may take to answer a scrape unless told otherwise, in milliseconds: well below Prometheus' own limit. */
const READ_TIMEOUT_MS = 2_000

/** What one service counts and measures. Every name is given once. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #sources: MeasuredSource[] = []
  readonly #sourceUp: Gauge<'source'>
  readonly #logger: Logger
  readonly #readTimeoutMs: number

  /** @param options.readTimeoutMs how long a source may take to answer a scrape, in milliseconds */
  constructor(options: { logger: Logger; readTimeoutMs?: number }) {
    this.#logger = options.logger
    this.#readTimeoutMs = options.readTimeoutMs ?? READ_TIMEOUT_MS
    this.#sourceUp = new Gauge({
      name: 'open_payments_metrics_source_up',
      help: 'Whether the gauges of a source could be read for this scrape (1), or are missing from it (0).',
      labelNames: ['source'],
      // Published with the first source.
      registers: []
    })
  }

  /** Adds the process metrics: CPU, memory, event loop, garbage collection. */
  addProcessMetrics(): void {
    collectDefaultMetrics({ register: this.#registry })
  }

  /**
   * Makes a counter, which begins at 0.
   *
   * @param description.name ends in `_total`
   * @returns adds to it, 1 unless told otherwise
   */
  addCounter(description: MetricDescription): (count?: number) => void {
    const counter = new Counter({ ...description, registers: [this.#registry] })
    return (count = 1) => {
      counter.inc(count)
    }
  }

  /**
   * Makes a counter for each value of a label; each begins at 0.
   *
   * @param description.name ends in `_total`
   * @param values all that the label can be
   * @returns adds to the counter of a value, 1 unless told otherwise
   */
  addCounters<Value extends string>(
    description: MetricDescription,
    label: string,
    values: readonly Value[]
  ): (value: Value, count?: number) => void {
    const counter = new Counter({ ...description, labelNames: [label], registers: [this.#registry] })
    for (const value of values) counter.inc({ [label]: value }, 0)
    return (value, count = 1) => {
      counter.inc({ [label]: value }, count)
    }
  }

  /**
   * Makes a counter for each value of a label, which begins when it is first counted. For values that are all known, but not
   * here: whoever counts makes sure that there are few.
   *
   * @param description.name ends in `_total`
   */
  addLabelledCounter(description: MetricDescription, label: string): (value: string) => void {
    const counter = new Counter({ ...description, labelNames: [label], registers: [this.#registry] })
    return (value) => {
      counter.inc({ [label]: value })
    }
  }

  /**
   * Makes histograms, one for each combination of labels, which begins when it is first observed: whoever observes makes sure
   * that there are few.
   *
   * @param buckets upper bounds, growing
   * @returns counts what was measured, which is finite, with the values of all labels
   */
  addHistogram<Label extends string>(
    description: MetricDescription,
    labelNames: readonly Label[],
    buckets: readonly number[]
  ): (labels: Readonly<Record<Label, string>>, measured: number) => void {
    const histogram = new Histogram({
      ...description,
      labelNames,
      buckets: [...buckets],
      registers: [this.#registry]
    })
    return (labels, measured) => {
      histogram.observe(labels, measured)
    }
  }

  /** Makes a gauge that is 1, for its labels: what does not change while the process runs. */
  addInfo(description: MetricDescription, labels: Readonly<Record<string, string>>): void {
    const gauge = new Gauge({ ...description, labelNames: Object.keys(labels), registers: [this.#registry] })
    gauge.set(labels, 1)
  }

  /** Makes a gauge of something that is in memory: it is read at every scrape. */
  addLiveGauge(description: MetricDescription, read: () => number): void {
    new Gauge({
      ...description,
      registers: [this.#registry],
      collect() {
        this.set(read())
      }
    })
  }

  /** Makes such a gauge for each value of a label. */
  addLiveGauges<Value extends string>(
    description: MetricDescription,
    label: string,
    read: () => Readonly<Record<Value, number>>
  ): void {
    new Gauge({
      ...description,
      labelNames: [label],
      registers: [this.#registry],
      collect() {
        for (const [value, measured] of Object.entries<number>(read())) this.set({ [label]: value }, measured)
      }
    })
  }

  /** Makes gauges that are read at every scrape. */
  addGauges<Key extends string>(source: GaugeSource<Key>): void {
    const gauges = Object.entries<MetricDescription>(source.gauges).map(([key, description]) => ({
      key,
      gauge: new Gauge({ ...description, registers: [this.#registry] })
    }))
    const { name } = source
    if (this.#sources.length === 0) this.#registry.registerMetric(this.#sourceUp)
    this.#sources.push(
      new MeasuredSource({
        name,
        read: () => source.read(),
        timeoutMs: this.#readTimeoutMs,
        logger: this.#logger,
        publish: (values) => {
          this.#sourceUp.set({ source: name }, values === undefined ? 0 : 1)
          for (const { key, gauge } of gauges) {
            const value = values?.[key]
            if (value === undefined) gauge.remove()
            else gauge.set(value)
          }
        }
      })
    )
  }

  /** Reads every source and answers all there is, in Prometheus' text format. Takes no longer than a source may. */
  async scrape(): Promise<{ contentType: string; text: string }> {
    await Promise.all(this.#sources.map((source) => source.refresh()))
    return { contentType: this.#registry.contentType, text: await this.#registry.metrics() }
  }
}
