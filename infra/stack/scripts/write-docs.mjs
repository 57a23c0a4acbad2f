// Writes the pages that are made from code: docs/configuration.md, docs/dependencies.md, docs/errors.md, docs/events.md with its
// schemas, and the example in README.md.
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { prepare } from './prepare.mjs'

const root = fileURLToPath(new URL('../../../', import.meta.url))

await prepare({ build: 'stack' })
const { configurationReference } = await import('../dist/reference/configuration-reference.js')
await writeFile(`${root}docs/configuration.md`, configurationReference())
const { dependencyReference } = await import('../dist/reference/dependency-reference.js')
await writeFile(`${root}docs/dependencies.md`, dependencyReference(root))
const { errorReference } = await import('../dist/reference/error-reference.js')
await writeFile(`${root}docs/errors.md`, errorReference())

const { eventReference, eventSchemas } = await import('../dist/reference/event-reference.js')
await writeFile(`${root}docs/events.md`, eventReference())
await rm(`${root}docs/events`, { recursive: true, force: true })
for (const [name, schema] of Object.entries(eventSchemas())) {
  const path = `${root}docs/events/${name}`
  await mkdir(dirname(path), { recursive: true })
  const options = { ...(await resolveConfig(path)), parser: 'json' }
  await writeFile(path, await format(JSON.stringify(schema), options))
}

const example = await readFile(`${root}infra/stack/examples/first-payment.mjs`, 'utf8')
const readme = await readFile(`${root}README.md`, 'utf8')
await writeFile(
  `${root}README.md`,
  readme.replace(/```js\n[^]*?```/, () => `\`\`\`js\n${example}\`\`\``)
)
