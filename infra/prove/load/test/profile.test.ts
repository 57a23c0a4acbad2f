import { describe, expect, it } from '@jest/globals'
import type { CpuProfile } from '../src/profile/inspector.js'
import { summariseProfile } from '../src/profile/summarise.js'

const frame = (functionName: string, path: string) => ({
  functionName,
  url: path === '' ? '' : `file:///home/${path}`,
  lineNumber: 4
})

/** `serve` works for 1 ms, calls itself and `query` of a package, which works for 3 ms; 6 ms are idle. */
const PROFILE: CpuProfile = {
  nodes: [
    { id: 1, callFrame: frame('(root)', ''), children: [2, 5] },
    { id: 2, callFrame: frame('serve', 'services/auth-server/dist/http/app.js'), children: [3] },
    { id: 3, callFrame: frame('serve', 'services/auth-server/dist/http/app.js'), children: [4] },
    { id: 4, callFrame: frame('query', 'node_modules/.pnpm/pg@8/node_modules/pg/lib/client.js') },
    { id: 5, callFrame: frame('(idle)', '') }
  ],
  samples: [2, 4, 5],
  timeDeltas: [1_000, 3_000, 6_000]
}

describe('the summary of a profile', () => {
  const summary = summariseProfile(PROFILE)

  it('tells idle time apart from work', () => {
    expect(summary.idle).toBeCloseTo(0.6)
  })

  it('ranks packages and functions by the time in the functions themselves', () => {
    expect(summary.packages.slice(0, 2)).toEqual([
      { name: 'pg', share: 0.75 },
      { name: 'services/auth-server/dist/http', share: 0.25 }
    ])
    expect(summary.functions[0]).toEqual({ name: 'query pg/lib/client.js:5', share: 0.75 })
  })

  it('counts a function that calls itself once with all that it calls', () => {
    expect(summary.inclusive).toEqual([{ name: 'serve services/auth-server/dist/http/app.js:5', share: 1 }])
  })
})
