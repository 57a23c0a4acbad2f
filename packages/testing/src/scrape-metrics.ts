/** The answer of a service's metrics listener. */
export interface Scrape {
  /** The whole answer. */
  readonly text: string
  /** The value of a series, such as `answers_total{kind="yes"}`; undefined when missing. */
  at(series: string): number | undefined
}

/**
 * Scrapes a service on this machine as Prometheus does.
 *
 * @param port of its metrics listener
 * @param host address that it binds to
 * @throws Error when it does not answer 200
 */
export async function scrapeMetrics(port: number | undefined, host = '127.0.0.1'): Promise<Scrape> {
  if (port === undefined) throw new Error('the service has no metrics listener: set METRICS_PORT')
  const response = await fetch(`http://${host}:${String(port)}/metrics`)
  const text = await response.text()
  if (response.status !== 200) throw new Error(`the scrape was answered with ${String(response.status)}`)
  const values = new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const end = line.lastIndexOf(' ')
        return [line.slice(0, end), Number(line.slice(end + 1))]
      })
  )
  return { text, at: (series) => values.get(series) }
}
