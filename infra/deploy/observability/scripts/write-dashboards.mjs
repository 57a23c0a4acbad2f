// Writes the dashboards as JSON for Grafana.
import { writeFile } from 'node:fs/promises'
import { prepare } from '../../../stack/scripts/prepare.mjs'

await prepare({ build: 'everything' })
const { DASHBOARDS, toGrafana } = await import('../dist/index.js')
for (const [name, dashboard] of Object.entries(DASHBOARDS)) {
  const file = new URL(`../dashboards/${name}.json`, import.meta.url)
  await writeFile(file, `${JSON.stringify(toGrafana(dashboard), null, 2)}\n`)
}
