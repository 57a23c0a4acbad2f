import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from '@jest/globals'
import { GUARDS } from '../src/guards/index.js'
import { withGuardsList } from '../src/guards-list.js'
import { breakGuard, type Mutation } from '../src/mutation.js'

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))
const MUTATIONS = GUARDS.flatMap(({ mutations }) => mutations)

const GUARD: Mutation = {
  guard: 'nothing is spent twice',
  file: 'spend.ts',
  text: 'if (spent) return',
  broken: '',
  test: { file: 'spend.test.ts', title: 'spends once' }
}

/** Where tests get their titles that are not in their own file. */
const TITLED_IN: Readonly<Record<string, string>> = {
  'infra/prove/fuzz/test/functions.test.ts': 'infra/prove/fuzz/src/fuzz.ts'
}

/** Whether one of the texts in a test file is a title, or becomes it with what stands for its placeholders. */
function mayHave(source: string, title: string): boolean {
  const texts = [...source.matchAll(/(['"`])((?:\\.|(?!\1)[^\\\n])*)\1/g)].map(([, , text = '']) =>
    text.replace(/\\(.)/g, '$1')
  )
  return texts.some((text) => {
    const parts = text.split(/%[a-zA-Z#]|\$\{[^}]*\}|\$[a-zA-Z.]+/)
    const pattern = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*')
    return /\w/.test(parts.join('')) && new RegExp(`^${pattern}$`, 's').test(title)
  })
}

describe('a guard', () => {
  it('is replaced in place, and nothing else is', () => {
    expect(breakGuard('a\nif (spent) return\nb', GUARD)).toBe('a\n\nb')
  })

  it.each(['a\nb', 'if (spent) return; if (spent) return'])('must stand exactly once: %j', (content) => {
    expect(() => breakGuard(content, GUARD)).toThrow('must occur once')
  })
})

describe('the list of guards', () => {
  it('names existing source texts and tests', async () => {
    for (const mutation of MUTATIONS) {
      const whole = await readFile(join(ROOT, mutation.file), 'utf8')
      expect(breakGuard(whole, mutation)).not.toBe(whole)
    }
    const missing: string[] = []
    for (const { file, title } of MUTATIONS.map(({ test }) => test)) {
      const source = await readFile(join(ROOT, TITLED_IN[file] ?? file), 'utf8')
      if (!mayHave(source, title)) missing.push(`${file}: ${title}`)
    }
    expect(missing).toEqual([])
  })

  it('has no duplicates', () => {
    const guards = MUTATIONS.map(({ guard }) => guard)
    expect(new Set(guards).size).toBe(guards.length)
  })

  it('matches the documents (else run: node infra/prove/mutations/scripts/write-docs.mjs)', async () => {
    const page = await readFile(join(ROOT, 'docs/testing.md'), 'utf8')
    expect(page).toBe(withGuardsList(page))
  })
})
