import { readFile } from 'node:fs/promises'

/** A metric as `docs/metrics.md` lists it, or as a service publishes it. */
export interface MetricSignature {
  readonly name: string
  readonly type: string
  /** In alphabetical order, without those that only a kind of metric has, such as `le`. */
  readonly labels: readonly string[]
}

/** A service that publishes metrics. */
export type ScrapedService = 'auth-server' | 'resource-server'

const DOCUMENT = new URL('../../../docs/metrics.md', import.meta.url)
const ROW = /^\| `(?<name>\w+)` +\| (?<type>\w+) +\| (?<labels>[^|]*)\|/

/**
 * Reads which metrics a service is said to publish.
 *
 * @returns in alphabetical order
 */
export async function readDocumentedMetrics(service: ScrapedService): Promise<MetricSignature[]> {
  const sections = (await readFile(DOCUMENT, 'utf8')).split(/^## /m)
  return sections
    .filter((section) => [service, 'Both'].includes(section.slice(0, section.indexOf('\n'))))
    .flatMap((section) => section.split('\n').flatMap(readRow))
    .sort(byName)
}

/**
 * Reads which metrics of this project were scraped. Labels are those of the series that are there.
 *
 * @param text in Prometheus' text format
 * @returns in alphabetical order
 */
export function readScrapedMetrics(text: string): MetricSignature[] {
  return [...text.matchAll(/^# TYPE (open_payments_\w+) (\w+)$/gm)]
    .map(([, name = '', type = '']) => {
      const series = text.matchAll(new RegExp(`^${name}(?:_bucket|_sum|_count)?\\{(.*)\\} `, 'gm'))
      const labels = [...series].flatMap(([, inside = '']) =>
        [...inside.matchAll(/(\w+)="/g)].map(([, label = '']) => label)
      )
      return { name, type, labels: [...new Set(labels)].filter((label) => label !== 'le').sort() }
    })
    .sort(byName)
}

function readRow(line: string): MetricSignature[] {
  const { name, type, labels } = ROW.exec(line)?.groups ?? {}
  if (name === undefined || type === undefined || labels === undefined) return []
  return [{ name, type, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label).sort() }]
}

function byName(one: MetricSignature, other: MetricSignature): number {
  return one.name < other.name ? -1 : 1
}
