/** How a metric is published. */
export interface MetricDescription {
  /** Its name, as Prometheus wants it: the unit last, then `_total` for what only grows. */
  readonly name: string
  /** Its help text, one sentence. */
  readonly help: string
}
