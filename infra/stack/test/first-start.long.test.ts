import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { freePortBase } from './free-ports.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
/** How long the first start may take on two cores that do nothing else, without the downloads, in milliseconds. */
const FIRST_START_MS = 75_000
/** After which it is no longer waited for. */
const GIVEN_UP_MS = 10 * FIRST_START_MS

let checkout: string

beforeAll(async () => {
  checkout = await realpath(await mkdtemp(join(tmpdir(), 'first-start-')))
  // The files of this checkout as they are now, and nothing that was installed, built or begun.
  const copy =
    'git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf - | tar -xf - -C "$0"'
  await promisify(execFile)('sh', ['-ec', copy, checkout], { cwd: ROOT })
})
afterAll(async () => {
  await rm(checkout, { recursive: true, force: true })
})

it(
  `the first start of a fresh clone takes ${String(FIRST_START_MS / 1_000)} s at most, once its packages were downloaded before`,
  async () => {
    const environment = { PATH: process.env.PATH, HOME: process.env.HOME }
    const begunAt = performance.now()
    const stack = spawn('npm', ['start'], {
      cwd: checkout,
      env: { ...environment, STACK_PORT_BASE: await freePortBase(join(checkout, '.local')) },
      stdio: ['ignore', 'pipe', 'pipe']
    })
    let said = ''
    for (const stream of [stack.stdout, stack.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (said += text))
    const ended = once(stack, 'close')
    while (!said.includes('Ctrl-C stops everything')) {
      if (stack.exitCode !== null || performance.now() - begunAt > GIVEN_UP_MS) break
      await delay(50)
    }
    const tookMs = performance.now() - begunAt
    stack.kill('SIGTERM')
    await ended
    console.log(said)
    expect(said).toContain('Ctrl-C stops everything')
    console.log(`the first start took ${(tookMs / 1_000).toFixed(1)} s`)
    expect(tookMs).toBeLessThanOrEqual(FIRST_START_MS)
  },
  2 * GIVEN_UP_MS
)
