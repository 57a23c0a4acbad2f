import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from '@jest/globals'
import { configurationReference } from '../src/reference/configuration-reference.js'
import { DEPENDENCY_REASONS } from '../src/reference/dependency-reasons.js'
import { errorReference } from '../src/reference/error-reference.js'
import { dependencyReference, findDependencies } from '../src/reference/dependency-reference.js'
import { eventReference, eventSchemas } from '../src/reference/event-reference.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
/** Licenses that ask for no more than to be named. */
const PERMISSIVE_LICENSES: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  '(Apache-2.0 AND BSD-3-Clause)',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'Unlicense'
])

const read = (path: string): Promise<string> => readFile(join(ROOT, path), 'utf8')

describe('the documents', () => {
  it('list every setting (else run: node infra/stack/scripts/write-docs.mjs)', async () => {
    expect(await read('docs/configuration.md')).toBe(configurationReference())
  })

  it('list every production dependency (else run: node infra/stack/scripts/write-docs.mjs)', async () => {
    expect(await read('docs/dependencies.md')).toBe(dependencyReference(ROOT))
  })

  it('describe every event (else run: node infra/stack/scripts/write-docs.mjs)', async () => {
    expect(await read('docs/events.md')).toBe(eventReference())
    const schemas = eventSchemas()
    const files = (await readdir(join(ROOT, 'docs/events'), { recursive: true })).filter((name) =>
      name.endsWith('.json')
    )
    expect(files.sort()).toEqual(Object.keys(schemas).sort())
    for (const [name, schema] of Object.entries(schemas))
      expect(JSON.parse(await read(`docs/events/${name}`))).toEqual(schema)
  })

  it('list every error (else run: node infra/stack/scripts/write-docs.mjs)', async () => {
    expect(await read('docs/errors.md')).toBe(errorReference())
  })

  it('give a reason for exactly the direct dependencies', () => {
    const chosen = findDependencies(ROOT).filter(({ isDirect }) => isDirect)
    expect(chosen.map(({ name }) => name).sort()).toEqual(Object.keys(DEPENDENCY_REASONS).sort())
  })

  it('list only dependencies whose licenses allow every use', () => {
    const unusual = findDependencies(ROOT).filter(({ license }) => !PERMISSIVE_LICENSES.has(license))
    expect(unusual).toEqual([])
  })

  it('show the first payment as the program that runs', async () => {
    const example = await read('infra/stack/examples/first-payment.mjs')
    expect(await read('README.md')).toContain(`\`\`\`js\n${example}\`\`\``)
  })

  it('have no broken links', async () => {
    const pages = [
      'README.md',
      ...(await readdir(join(ROOT, 'docs'), { recursive: true })).map((name) => `docs/${name}`)
    ]
    for (const page of pages.filter((name) => name.endsWith('.md'))) {
      const links = [...(await read(page)).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(
        ([, path = '']) => path
      )
      for (const link of links) {
        const target = join(ROOT, dirname(page), link)
        await expect(readdir(target).catch(() => readFile(target))).resolves.toBeDefined()
      }
    }
  })

  it('show every picture, and none that is not there', async () => {
    const names = (await readdir(join(ROOT, 'docs'))).filter((name) => name.endsWith('.md'))
    const pages = await Promise.all(names.map((name) => read(`docs/${name}`)))
    const shown = pages.flatMap((page) =>
      [...page.matchAll(/(?:src|srcset)="images\/pages\/([^"]+)"/g)].map(([, name = '']) => name)
    )
    expect([...new Set(shown)].sort()).toEqual((await readdir(join(ROOT, 'docs/images/pages'))).sort())
  })

  it('name only existing tests in the threat model', async () => {
    const page = await read('docs/threat-model.md')
    const named = [...page.matchAll(/\[([^\]]+)\]\(\.\.\/([^)]+\.test\.ts)\)/g)]
    expect(named.length).toBeGreaterThan(50)
    for (const [, name = '', path = ''] of named) expect(await read(path)).toContain(name)
  })

  it('name only commands that exist', async () => {
    const { scripts } = JSON.parse(await read('package.json')) as { scripts: Record<string, string> }
    const named = [
      ...(await read('README.md')).matchAll(/npm (?:run (?:--silent )?)?(start|test|[a-z-]+)\b/g)
    ]
      .map(([whole, name = '']) =>
        whole.startsWith('npm run') || ['start', 'test'].includes(name) ? name : undefined
      )
      .filter((name) => name !== undefined)
    expect(named.length).toBeGreaterThan(3)
    for (const name of named) expect(Object.keys(scripts)).toContain(name)
  })
})
