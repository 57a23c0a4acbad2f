// Writes the list of guards into docs/testing.md.
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { prepare } from '../../../stack/scripts/prepare.mjs'

const page = fileURLToPath(new URL('../../../../docs/testing.md', import.meta.url))

await prepare({ build: 'everything' })
const { withGuardsList } = await import('../dist/guards-list.js')
await writeFile(page, withGuardsList(await readFile(page, 'utf8')))
