import { access, readFile } from 'node:fs/promises'
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
      await access(join(ROOT, mutation.test.file))
    }
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
