import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { CHART } from '../src/index.js'

interface Ended {
  readonly status: number
  readonly printed: string
}

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chart-scripts-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true })
})

const run = (program: string, words: string[], env: Record<string, string>): Promise<Ended> =>
  new Promise((resolve) => {
    const child = execFile(program, words, { env }, (_error, stdout, stderr) => {
      resolve({ status: child.exitCode ?? -1, printed: stdout + stderr })
    })
  })

describe('the backup', () => {
  /** Stands in for PostgreSQL's programs: writes down what it is asked for. */
  const DUMP = `#!/bin/sh
for word in "$@"; do case "$word" in --file=*) file="\${word#--file=}" ;; --dbname=*) url="\${word#--dbname=}" ;; esac; done
case "$url" in *broken*) echo 'cannot connect' >&2; exit 1 ;; esac
echo "$url" > "$file"
echo "$url" >> "$ASKED"
`

  beforeEach(async () => {
    for (const name of ['bin', 'backup', 'secrets']) await mkdir(join(folder, name))
    const programs = { pg_dump: DUMP, pg_restore: '#!/bin/sh\ngrep -q url "$2"\n' }
    for (const [name, text] of Object.entries(programs)) {
      await writeFile(join(folder, 'bin', name), text)
      await chmod(join(folder, 'bin', name), 0o755)
    }
    await giveUrl('auth-server', 'auth-url')
    await giveUrl('resource-server', 'resource-url')
  })

  const giveUrl = (service: string, url: string) =>
    writeFile(join(folder, 'secrets', `${service}-database-url`), url)
  const made = async () => (await readdir(join(folder, 'backup'))).sort()

  async function backUp(): Promise<Ended> {
    const script = await readFile(join(CHART, 'scripts', 'back-up.sh'), 'utf8')
    return run('/bin/sh', ['-c', script], {
      PATH: `${join(folder, 'bin')}:${String(process.env.PATH)}`,
      BACKUP_FOLDER: join(folder, 'backup'),
      SECRET_FOLDER: join(folder, 'secrets'),
      KEEP_DAYS: '14',
      ASKED: join(folder, 'asked')
    })
  }

  it('dumps the resource server first, since the auth server must be the later one', async () => {
    expect(await backUp()).toEqual({ status: 0, printed: '' })
    const [name = '', ...others] = await made()
    expect(others).toEqual([])
    expect(name).toMatch(/^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ$/)
    expect((await readdir(join(folder, 'backup', name))).sort()).toEqual([
      'auth-server.dump',
      'resource-server.dump'
    ])
    expect(await readFile(join(folder, 'asked'), 'utf8')).toBe('resource-url\nauth-url\n')
  })

  it.each([
    ['cannot be made', 'broken-url', 'cannot connect'],
    ['cannot be read', 'nothing', '']
  ])('fails where a dump %s, and says that it is not complete', async (_what, url, printed) => {
    await giveUrl('auth-server', url)
    const ended = await backUp()
    expect(ended.status).not.toBe(0)
    expect(ended.printed).toContain(printed)
    expect(await made()).toEqual([expect.stringMatching(/Z\.unfinished$/)])
  })

  it('deletes what is older than it should be kept, and nothing that it did not make', async () => {
    const names = [
      '2026-01-01T00-00-00Z',
      '2026-01-02T00-00-00Z.unfinished',
      'of-others',
      '2026-01-03T00-00-00Z'
    ]
    for (const name of names) {
      const path = join(folder, 'backup', name)
      await mkdir(path)
      await writeFile(join(path, 'auth-server.dump'), '')
      const days = name.startsWith('2026-01-03') ? 10 : 20
      const then = new Date(Date.now() - days * 24 * 3600 * 1000)
      await utimes(path, then, then)
    }
    expect((await backUp()).status).toBe(0)
    const left = await made()
    expect(left).toHaveLength(3)
    expect(left).toEqual(expect.arrayContaining(['2026-01-03T00-00-00Z', 'of-others']))
  })

  it('keeps what is old where it fails', async () => {
    const path = join(folder, 'backup', '2026-01-01T00-00-00Z')
    await mkdir(path)
    await utimes(path, new Date(0), new Date(0))
    await giveUrl('auth-server', 'broken-url')
    await backUp()
    expect(await made()).toContain('2026-01-01T00-00-00Z')
  })
})

describe('the test of an installation', () => {
  async function ask(patienceSeconds: number, ...addresses: string[]): Promise<Ended> {
    const script = await readFile(join(CHART, 'scripts', 'ask-readiness.js'), 'utf8')
    return run(process.execPath, ['-e', script, ...addresses], { PATIENCE_SECONDS: String(patienceSeconds) })
  }

  /** A service that becomes ready at its second answer, or never does. */
  async function withService(ready: boolean, use: (address: string) => Promise<void>): Promise<void> {
    let asked = 0
    const server = createServer((request, response) => {
      asked += 1
      const isReady = ready && asked > 1
      response.writeHead(isReady ? 200 : 503).end(`${String(request.url)} ${isReady ? 'ready' : 'away'}`)
    })
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve)
    })
    try {
      await use(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}`)
    } finally {
      server.closeAllConnections()
      server.close()
    }
  }

  it('passes once both services are ready', async () => {
    await withService(true, async (address) => {
      const ended = await ask(60, `${address}/readyz`, `${address}/other`)
      expect(ended.status).toBe(0)
      expect(ended.printed).toContain(`${address}/readyz: 200 /readyz ready`)
    })
  })

  it('fails where one is not, and says what it answers', async () => {
    await withService(true, (ready) =>
      withService(false, async (address) => {
        const ended = await ask(2, `${ready}/readyz`, `${address}/readyz`)
        expect(ended.status).toBe(1)
        expect(ended.printed).toContain(`${address}/readyz: 503 /readyz away`)
      })
    )
  })

  it('fails where nobody answers, and says why', async () => {
    const ended = await ask(2, 'http://127.0.0.1:9/readyz')
    expect(ended.status).toBe(1)
    expect(ended.printed).toMatch(/127\.0\.0\.1:9\/readyz: fetch failed \S+/)
  })
})
