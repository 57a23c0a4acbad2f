import type { JSX } from 'preact'
import type { Chart } from './blocks.js'

const [WIDTH, HEIGHT, GAP] = [720, 120, 2] as const

/** Bars for each step, stacked; and all numbers as a table, for whoever does not see them or wants them exactly. */
export function HoursChart({ chart, asTableLabel }: { chart: Chart; asTableLabel: string }): JSX.Element {
  const { title, summary, series, steps } = chart
  const most = Math.max(1, ...steps.map(({ values }) => values.reduce((sum, value) => sum + value, 0)))
  const width = WIDTH / Math.max(1, steps.length)
  return (
    <section>
      <h2>{title}</h2>
      <p>{summary}</p>
      <p class="legend" aria-hidden="true">
        {series.map(({ label, tone }) => (
          <span key={label} class={tone}>
            {label}
          </span>
        ))}
      </p>
      <svg
        class="chart"
        viewBox={`0 0 ${String(WIDTH)} ${String(HEIGHT)}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={summary}
      >
        <line class="base" x1="0" x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
        {steps.map(({ label, values }, place) => {
          let below = 0
          return values.map((value, index) => {
            const height = (value / most) * (HEIGHT - 4)
            below += height
            return (
              <rect
                key={`${label} ${String(index)}`}
                class={series[index]?.tone}
                x={place * width + GAP / 2}
                y={HEIGHT - below}
                width={Math.max(1, width - GAP)}
                height={height}
              >
                <title>{`${label}: ${series[index]?.label ?? ''} ${String(value)}`}</title>
              </rect>
            )
          })
        })}
      </svg>
      <Numbers chart={chart} asTableLabel={asTableLabel} />
    </section>
  )
}

function Numbers({ chart, asTableLabel }: { chart: Chart; asTableLabel: string }): JSX.Element {
  const { title, stepLabel, series, steps } = chart
  return (
    <details>
      <summary>{asTableLabel}</summary>
      <div class="scrolls" tabIndex={0} role="region" aria-label={title}>
        <table>
          <thead>
            <tr>
              <th scope="col">{stepLabel}</th>
              {series.map(({ label }) => (
                <th key={label} scope="col" class="number">
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {steps.map(({ label, values }) => (
              <tr key={label}>
                <th scope="row">{label}</th>
                {values.map((value, index) => (
                  <td key={index} class="number">
                    {value}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}
