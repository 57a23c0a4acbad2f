import { readFile } from 'node:fs/promises'

/** A metric as `docs/metrics.md` lists it, or as a service publishes it. */
export interface MetricSignature {
  readonly name: string
  readonly type: string
  /** In alphabetical order, without those that belong to a type of metric, such as `le`. */
  readonly labels: readonly string[]
}

/** A service that publishes metrics. */
export type ScrapedService = 'auth-server' | 'resource-server' | 'web'

const DOCUMENT = new URL('../../../docs/metrics.md', import.meta.url)
const ROW = /^\| `(?<name>\w+)` +\| (?<type>\w+) +\| (?<labels>[^|]*)\|/

/** Reads the documented metrics of a service. */
export async function readDocumentedMetrics(service: ScrapedService): Promise<MetricSignature[]> {
  const sections = (await readFile(DOCUMENT, 'utf8')).split(/^## /m)
  return sections
    .filter((section) => sectionsOf(service).includes(section.slice(0, section.indexOf('\n'))))
    .flatMap((section) => section.split('\n').flatMap(readRow))
}

/** The pages have fewer things to measure than both services: a section of their own names all of them. */
function sectionsOf(service: ScrapedService): readonly string[] {
  return service === 'web' ? [service] : [service, 'Both']
}

/**
 * Compares what a service publishes with what `docs/metrics.md` says. The labels of a metric that has no series yet are not
 * known, and not compared.
 *
 * @param text what was scraped, in Prometheus' text format
 * @returns the differences, in words
 */
export async function compareWithDocument(text: string, service: ScrapedService): Promise<string[]> {
  const documented = new Map((await readDocumentedMetrics(service)).map((metric) => [metric.name, metric]))
  const published = readScrapedMetrics(text)
  const names = new Set(published.map(({ name }) => name))
  return [
    ...[...documented.keys()].filter((name) => !names.has(name)).map((name) => `${name} is not published`),
    ...published.flatMap(({ name, type, labels }) => {
      const expected = documented.get(name)
      if (expected === undefined) return [`${name} is not documented`]
      const isSame = labels.length === 0 || labels.join() === expected.labels.join()
      return isSame && type === expected.type
        ? []
        : [
            `${name} is a ${type} of ${labels.join()}, documented as a ${expected.type} of ${expected.labels.join()}`
          ]
    })
  ]
}

function readScrapedMetrics(text: string): MetricSignature[] {
  return [...text.matchAll(/^# TYPE (open_payments_\w+) (\w+)$/gm)].map(([, name = '', type = '']) => {
    const series = text.matchAll(new RegExp(`^${name}(?:_bucket|_sum|_count)?\\{(.*)\\} `, 'gm'))
    const labels = [...series].flatMap(([, inside = '']) =>
      [...inside.matchAll(/(\w+)="/g)].map(([, label = '']) => label)
    )
    return { name, type, labels: [...new Set(labels)].filter((label) => label !== 'le').sort() }
  })
}

function readRow(line: string): MetricSignature[] {
  const { name, type, labels } = ROW.exec(line)?.groups ?? {}
  if (name === undefined || type === undefined || labels === undefined) return []
  return [{ name, type, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label).sort() }]
}
