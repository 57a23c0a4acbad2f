// Renders a dashboard and the answers to its queries as a page of HTML with SVG, in the places that the dashboard says.

const COLORS = ['#73bf69', '#f2cc0c', '#5794f2', '#ff9830', '#f2495c', '#b877d9', '#8ab8ff', '#96d98d']
const STATES = { green: '#2f7d46', orange: '#c4671b', red: '#b8293d' }
const CELL = 58
const ROW = 38
const MARGIN = 8
const WIDTH = 1440 - 2 * MARGIN

/** The page. */
export function renderDashboard(dashboard, answers, period) {
  const height = Math.max(...dashboard.panels.map(({ gridPos: { y, h } }) => y + h)) * ROW
  const panels = dashboard.panels.map((panel) => {
    const { x, y, w } = panel.gridPos
    const box = {
      left: (x / 24) * WIDTH,
      top: y * ROW,
      width: (w / 24) * WIDTH,
      height: panel.gridPos.h * ROW
    }
    return place(
      box,
      panel.type === 'row' ? '' : 'panel',
      content(panel, answers.get(panel.id) ?? [], box, period)
    )
  })
  return `<!doctype html><meta charset="utf-8"><style>${STYLE}</style>
<h1>${escape(dashboard.title)}</h1><p>${escape(dashboard.description)}</p>
<main style="height:${height}px">${panels.join('')}</main>`
}

const STYLE = `
  body { margin: ${MARGIN}px; background: #111217; color: #ccccdc; font: 13px Inter, 'DejaVu Sans', sans-serif; width: ${WIDTH}px }
  h1 { font-size: 20px; font-weight: 500; margin: 6px 6px 2px }
  p { margin: 0 6px 8px; color: #9a9aab }
  main { position: relative }
  section { position: absolute; box-sizing: border-box; padding: 4px }
  section.panel > div { background: #181b1f; border: 1px solid #2c2f35; border-radius: 3px; height: 100%; box-sizing: border-box; overflow: hidden }
  h2 { font-size: 14px; font-weight: 500; margin: 9px 4px; color: #e2e2ee }
  h3 { font-size: 13px; font-weight: 500; margin: 8px 10px 4px }
  .stat { color: #fff; position: relative; border: 0 !important }
  .stat b { position: absolute; left: 0; right: 0; bottom: 30%; text-align: center; font-size: 32px; font-weight: 500 }
  .stat svg { position: absolute; bottom: 0; left: 0 }
  .legend { padding: 0 10px; display: flex; flex-wrap: wrap; gap: 1px 12px; font-size: 11px; color: #aaaabc; max-height: 29px; line-height: 14px; overflow: hidden }
  .legend i { display: inline-block; width: 12px; height: 3px; border-radius: 2px; margin-right: 5px; vertical-align: middle }
  text { fill: #8e8ea0; font-size: 10.5px }`

function place({ left, top, width, height }, kind, inner) {
  const style = `left:${left}px;top:${top}px;width:${width}px;height:${height}px`
  return `<section class="${kind}" style="${style}">${inner}</section>`
}

function content(panel, lines, box, period) {
  if (panel.type === 'row') return `<h2>${escape(panel.title)}</h2>`
  const title = `<h3>${escape(panel.title)}</h3>`
  if (panel.type === 'stat') return drawStat(panel, lines, box, period, title)
  return `<div>${title}${drawGraph(panel, lines, box, period)}${drawLegend(lines)}</div>`
}

function drawStat(panel, lines, box, period, title) {
  const { unit, thresholds } = panel.fieldConfig.defaults
  const [line] = lines
  const value = line?.points.at(-1)?.value
  const reached = thresholds.steps.filter((step) => step.value === null || value >= step.value).at(-1)
  const size = { width: box.width - 8, height: 40 }
  const scale = scaleOf(line === undefined ? [] : [line], period, {
    ...size,
    left: 0,
    top: 4,
    bottom: 2,
    right: 0
  })
  const path = line === undefined ? '' : pathOf(line.points, scale)
  const area = path === '' ? '' : `<path d="${path}" fill="none" stroke="#ffffff66" stroke-width="1.5"/>`
  return `<div class="stat" style="background:${STATES[reached.color]}">${title}
<svg width="${size.width}" height="${size.height}">${area}</svg>
<b>${value === undefined ? 'No data' : format(value, unit)}</b></div>`
}

function drawGraph(panel, lines, box, period) {
  const { unit } = panel.fieldConfig.defaults
  const frame = { width: box.width - 10, height: box.height - 76, left: CELL, right: 12, top: 8, bottom: 20 }
  const scale = scaleOf(lines, period, frame)
  const grid = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const y = scale.y(part * scale.max)
    return `<line x1="${frame.left}" x2="${frame.width - frame.right}" y1="${y}" y2="${y}" stroke="#24272d"/>
<text x="${frame.left - 6}" y="${y + 3.5}" text-anchor="end">${format(part * scale.max, unit)}</text>`
  })
  const times = [0.1, 0.5, 0.9].map((part) => {
    const at = period.start + part * (period.end - period.start)
    const text = new Date(at * 1_000).toISOString().slice(11, 16)
    return `<text x="${scale.x(at)}" y="${frame.height - 4}" text-anchor="middle">${text}</text>`
  })
  const drawn = lines.map(({ points }, index) => {
    const color = COLORS[index % COLORS.length]
    const path = pathOf(points, scale)
    if (path === '') return ''
    const floor = scale.y(0)
    const area = `${path}L${scale.x(points.at(-1).at)},${floor}L${scale.x(points[0].at)},${floor}Z`
    return `<path d="${area}" fill="${color}" opacity="0.08"/>
<path d="${path}" fill="none" stroke="${color}" stroke-width="1.5" stroke-linejoin="round"/>`
  })
  const inner = [...grid, ...times, ...drawn].join('')
  return `<svg width="${frame.width}" height="${frame.height}">${inner}</svg>`
}

function drawLegend(lines) {
  // Those that are 0 all the time come last, and may not fit.
  const entries = lines
    .map(({ name, points }, index) => ({
      name,
      index,
      most: Math.max(0, ...points.map(({ value }) => value))
    }))
    .sort((one, other) => Number(other.most > 0) - Number(one.most > 0))
    .map(
      ({ name, index }) =>
        `<span><i style="background:${COLORS[index % COLORS.length]}"></i>${escape(name)}</span>`
    )
  return `<div class="legend">${entries.join('')}</div>`
}

function scaleOf(lines, { start, end }, { width, height, left, right, top, bottom }) {
  const max = niceMax(Math.max(0, ...lines.flatMap(({ points }) => points.map(({ value }) => value))))
  return {
    max,
    x: (at) => round(left + ((at - start) / (end - start)) * (width - left - right)),
    y: (value) => round(height - bottom - (value / max) * (height - top - bottom))
  }
}

function pathOf(points, scale) {
  return points
    .map(({ at, value }, index) => `${index === 0 ? 'M' : 'L'}${scale.x(at)},${scale.y(value)}`)
    .join('')
}

function niceMax(value) {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 4, 8, 10].map((step) => step * power).find((candidate) => candidate >= value)
}

function format(value, unit) {
  if (unit === 's')
    return value === 0 ? '0 s' : value < 1 ? `${plain(value * 1_000)} ms` : `${plain(value)} s`
  if (unit === 'percentunit') return `${plain(value * 100)}%`
  if (unit === 'bytes') return `${plain(value / 2 ** 20)} MiB`
  if (unit === 'reqps') return `${plain(value)} req/s`
  return plain(value)
}

function plain(value) {
  return String(Number(value.toPrecision(value >= 100 ? 4 : 3)))
}

function round(value) {
  return Math.round(value * 10) / 10
}

function escape(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
