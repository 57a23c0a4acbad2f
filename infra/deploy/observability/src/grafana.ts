/** Units, by Grafana's names. */
export type Unit = 'short' | 's' | 'percentunit' | 'reqps' | 'bytes' | 'cpm'

/** One line, or several of one query, in a panel. */
export interface Query {
  /** PromQL; `$__rate_interval` is a window that suits the scrape interval. */
  readonly expr: string
  /** Name of each line, with labels in double braces. */
  readonly legend: string
}

/** A panel, without the properties that all have in common. */
export interface Panel {
  readonly title: string
  readonly description: string
  readonly kind: 'timeseries' | 'stat'
  readonly unit: Unit
  readonly queries: readonly Query[]
  /**
   * Thresholds from which it is orange, and red; below which it is, if the second one is the smaller one. Without them it is
   * always green.
   */
  readonly thresholds?: readonly [orange: number, red: number]
}

/** A row of panels, which share its width. */
export interface Row {
  readonly title: string
  readonly panels: readonly Panel[]
}

/** A dashboard, without the properties that all have in common. */
export interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly description: string
  readonly rows: readonly Row[]
}

const WIDTH = 24
const HEIGHTS = { row: 1, stat: 4, timeseries: 8 }
/** Grafana 12. */
const SCHEMA_VERSION = 41
const DATASOURCE = { type: 'prometheus', uid: '${datasource}' }

/** Converts a dashboard to Grafana's format. Its Prometheus is chosen in Grafana. */
export function toGrafana({ uid, title, description, rows }: Dashboard): unknown {
  return {
    uid,
    title,
    description,
    tags: ['open-payments'],
    schemaVersion: SCHEMA_VERSION,
    version: 1,
    editable: false,
    graphTooltip: 1,
    refresh: '30s',
    timezone: 'browser',
    time: { from: 'now-1h', to: 'now' },
    templating: {
      list: [{ name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus' }]
    },
    links: [{ type: 'dashboards', title: 'Open Payments', tags: ['open-payments'], asDropdown: false }],
    panels: placeRows(rows)
  }
}

function placeRows(rows: readonly Row[]): unknown[] {
  const placed: unknown[] = []
  let y = 0
  for (const { title, panels } of rows) {
    placed.push({
      id: placed.length + 1,
      type: 'row',
      title,
      collapsed: false,
      gridPos: { x: 0, y, w: WIDTH, h: HEIGHTS.row },
      panels: []
    })
    y += HEIGHTS.row
    const w = WIDTH / panels.length
    const h = Math.max(...panels.map(({ kind }) => HEIGHTS[kind]))
    for (const [index, panel] of panels.entries()) {
      placed.push({ id: placed.length + 1, ...toPanel(panel), gridPos: { x: index * w, y, w, h } })
    }
    y += h
  }
  return placed
}

const GREEN = { color: 'green', value: null }

/** Grafana's steps: each colour holds from its value on, the first one from below all. */
function stepsOf([orange, red]: readonly [number, number]): readonly object[] {
  if (red < orange) {
    return [
      { color: 'red', value: null },
      { color: 'orange', value: red },
      { color: 'green', value: orange }
    ]
  }
  return [GREEN, { color: 'orange', value: orange }, { color: 'red', value: red }]
}

function toPanel({ kind, title, description, unit, queries, thresholds }: Panel): object {
  return {
    type: kind,
    title,
    description,
    datasource: DATASOURCE,
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend
    })),
    fieldConfig: {
      defaults: {
        unit,
        min: 0,
        thresholds: { mode: 'absolute', steps: thresholds === undefined ? [GREEN] : stepsOf(thresholds) },
        ...(kind === 'timeseries' ? { custom: { fillOpacity: 8, lineWidth: 1, showPoints: 'never' } } : {})
      },
      overrides: []
    },
    options:
      kind === 'stat'
        ? { colorMode: 'background', graphMode: 'area', reduceOptions: { calcs: ['lastNotNull'] } }
        : {
            legend: { displayMode: 'list', placement: 'bottom' },
            tooltip: { mode: 'multi', sort: 'desc' }
          }
  }
}
