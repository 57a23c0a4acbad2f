import { describe, expect, it } from '@jest/globals'
import { createSealer } from './sealer.js'

const [FIRST, SECOND] = ['the-first-secret-of-these', 'the-second-secret-of-these']
let now = 1_767_225_600_000
const clock = { now: () => now }

describe('what is sealed', () => {
  it('is opened for its purpose, and until it is over', async () => {
    const sealer = createSealer([FIRST], clock)
    const sealed = await sealer.seal('session', { id: 'x' }, 60)
    expect(sealed).not.toContain(Buffer.from('{"id"').toString('base64url').slice(0, 5))
    expect(await sealer.open('session', sealed)).toEqual({ id: 'x' })
    expect(await sealer.open('other', sealed)).toBeUndefined()
    now += 61_000
    expect(await sealer.open('session', sealed)).toBeUndefined()
  })

  it('is opened with any of the keys, and no other', async () => {
    const sealed = await createSealer([FIRST], clock).seal('session', { id: 'x' }, 60)
    expect(await createSealer([SECOND, FIRST], clock).open('session', sealed)).toEqual({ id: 'x' })
    expect(await createSealer([SECOND], clock).open('session', sealed)).toBeUndefined()
  })

  it('cannot be changed', async () => {
    const sealer = createSealer([FIRST], clock)
    const sealed = await sealer.seal('session', { id: 'x' }, 60)
    const parts = sealed.split('.')
    const cipher = parts[3] ?? ''
    parts[3] = `${cipher.startsWith('A') ? 'B' : 'A'}${cipher.slice(1)}`
    for (const wrong of [parts.join('.'), '', 'x', 'a.b.c.d.e', sealed.slice(0, -1)])
      expect(await sealer.open('session', wrong)).toBeUndefined()
  })
})
