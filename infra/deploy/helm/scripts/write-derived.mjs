// Writes the files that are derived from the chart: the base of the kustomize overlays, rendered by Helm, and in the schema of
// values.yaml the settings that users may give, which are those that the base does not set. Copies the dashboards into the chart.
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { format, resolveConfig } from 'prettier'
import { prepare } from '../../../stack/scripts/prepare.mjs'

await prepare({ build: 'everything' })
const { BASE, CHART, DASHBOARDS, renderBase, settingsDefinitions } = await import('../dist/index.js')
const { findTools, parseObjects } = await import('@open-payments-server/kubernetes')

const copies = join(CHART, 'dashboards')
await rm(copies, { recursive: true, force: true })
await mkdir(copies)
for (const name of await readdir(DASHBOARDS)) {
  if (name.endsWith('.json')) await copyFile(join(DASHBOARDS, name), join(copies, name))
}

const tools = await findTools()
if (typeof tools === 'string') {
  console.error(`  No Helm can be had, so everything stays as it is: ${tools}`)
  process.exit(1)
}
const base = await renderBase(tools.helms[0])
await writeFile(BASE, base)

const path = join(CHART, 'values.schema.json')
const schema = JSON.parse(await readFile(path, 'utf8'))
Object.assign(schema.definitions, settingsDefinitions(parseObjects(base)))
await writeFile(
  path,
  await format(JSON.stringify(schema), { ...(await resolveConfig(path)), parser: 'json' })
)
