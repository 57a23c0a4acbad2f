// Writes the Helm chart from the kustomize overlay for production. Needs kubectl.
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { prepare } from '../../stack/scripts/prepare.mjs'

const chart = fileURLToPath(new URL('../open-payments/', import.meta.url))

await prepare({ build: true })
const { hasKubectl, renderOverlay } = await import('@open-payments-server/kubernetes')
const { makeChart } = await import('../dist/index.js')
if (!hasKubectl()) {
  console.error('  kubectl is not installed: the chart stays as it is.')
  process.exit(1)
}
for (const [path, text] of Object.entries(makeChart(await renderOverlay('production')))) {
  await mkdir(dirname(join(chart, path)), { recursive: true })
  await writeFile(join(chart, path), text)
}
