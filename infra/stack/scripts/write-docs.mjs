// Writes the pages that are made from code: docs/configuration.md, docs/dependencies.md, docs/errors.md, and the example in
// README.md.
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { prepare } from './prepare.mjs'

const root = fileURLToPath(new URL('../../../', import.meta.url))

await prepare({ build: 'stack' })
const { configurationReference } = await import('../dist/reference/configuration-reference.js')
await writeFile(`${root}docs/configuration.md`, configurationReference())
const { dependencyReference } = await import('../dist/reference/dependency-reference.js')
await writeFile(`${root}docs/dependencies.md`, dependencyReference(root))
const { errorReference } = await import('../dist/reference/error-reference.js')
await writeFile(`${root}docs/errors.md`, errorReference())

const example = await readFile(`${root}infra/stack/examples/first-payment.mjs`, 'utf8')
const readme = await readFile(`${root}README.md`, 'utf8')
await writeFile(
  `${root}README.md`,
  readme.replace(/```js\n[^]*?```/, () => `\`\`\`js\n${example}\`\`\``)
)
