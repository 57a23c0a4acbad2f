import { type Measurement } from '../results.js'
import { referenceOf, titleOf } from './table.js'

const WIDTH = 860
const LEFT = 230
const RIGHT = 60
const TOP = 58
const ROW = 34
const BAR = 11
const FOOT = 34
const TICKS = [10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000]
const COLORS = { own: '#1f6feb', floor: '#c3d3ea', reference: '#d1242f', text: '#24292f', line: '#e5e8ec' }

/**
 * Draws throughput at one concurrency as SVG: a bar for each call, one for its floor, and a mark for the reference implementation.
 * The scale is logarithmic.
 */
export function drawPlot(measurements: readonly Measurement[], subtitle: string): string {
  const height = TOP + measurements.length * ROW + FOOT
  const highest = Math.max(
    ...measurements.flatMap(({ perSecond, floorPerSecond }) => [perSecond, floorPerSecond])
  )
  const ticks = TICKS.slice(0, TICKS.findIndex((tick) => tick >= highest) + 1 || TICKS.length)
  const place = createScale(ticks[0] ?? 1, ticks[ticks.length - 1] ?? 1)
  const bottom = height - FOOT
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${String(WIDTH)} ${String(height)}" font-family="Helvetica, Arial, sans-serif" font-size="12" fill="${COLORS.text}">`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    `<text x="16" y="22" font-size="15" font-weight="bold">Requests per second</text>`,
    `<text x="16" y="40" fill="#57606a">${escape(subtitle)}</text>`,
    drawLegend(),
    ...ticks.map((tick) => drawTick(tick, place(tick), bottom)),
    ...measurements.map((measurement, index) => drawRow(measurement, TOP + index * ROW, place)),
    '</svg>\n'
  ].join('\n')
}

function createScale(low: number, high: number): (value: number) => number {
  const span = Math.log(high) - Math.log(low)
  return (value) => LEFT + ((WIDTH - LEFT - RIGHT) * (Math.log(Math.max(value, low)) - Math.log(low))) / span
}

function drawLegend(): string {
  const entries = [
    [COLORS.own, 'this project'],
    [COLORS.floor, 'least the call needs'],
    [COLORS.reference, 'reference implementation']
  ] as const
  return entries
    .map(([color, text], index) => {
      const x = WIDTH - 430 + index * 135
      return `<rect x="${String(x)}" y="13" width="10" height="10" fill="${color}"/><text x="${String(x + 15)}" y="22">${text}</text>`
    })
    .join('')
}

function drawTick(tick: number, x: number, bottom: number): string {
  const at = x.toFixed(1)
  return (
    `<line x1="${at}" x2="${at}" y1="${String(TOP - 6)}" y2="${String(bottom)}" stroke="${COLORS.line}"/>` +
    `<text x="${at}" y="${String(bottom + 16)}" text-anchor="middle" fill="#57606a">${tick.toLocaleString('en')}</text>`
  )
}

function drawRow(measurement: Measurement, y: number, place: (value: number) => number): string {
  const { call, perSecond, floorPerSecond } = measurement
  const bar = (value: number, top: number, color: string): string =>
    `<rect x="${String(LEFT)}" y="${String(top)}" width="${(place(value) - LEFT).toFixed(1)}" height="${String(BAR)}" fill="${color}"/>`
  const reference = referenceOf(measurement)
  const mark = (value: number): string => {
    const x = place(value).toFixed(1)
    return `<line x1="${x}" x2="${x}" y1="${String(y)}" y2="${String(y + 2 * BAR)}" stroke="${COLORS.reference}" stroke-width="3"/>`
  }
  return [
    `<text x="${String(LEFT - 10)}" y="${String(y + 15)}" text-anchor="end">${escape(titleOf(call))}</text>`,
    bar(perSecond, y, COLORS.own),
    bar(floorPerSecond, y + BAR, COLORS.floor),
    `<text x="${(place(perSecond) + 5).toFixed(1)}" y="${String(y + 10)}" font-size="11">${Math.round(perSecond).toLocaleString('en')}</text>`,
    ...(reference === undefined ? [] : [mark(reference)])
  ].join('')
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
