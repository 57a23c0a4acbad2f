/** How a metric is published. */
export interface MetricDescription {
  /** Its name, as Prometheus wants it: the unit last, then `_total` for what only grows. */
  readonly name: string
  /** What it tells, in a sentence. */
  readonly help: string
}
