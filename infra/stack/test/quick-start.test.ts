import { type ChildProcess, spawn } from 'node:child_process'
import { createPrivateKey } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Arrived, formOf, PlainBrowser } from '@open-payments-server/testing/browser'
import { assertPortsFree } from '../src/stack/ports.js'
import { readSettings } from '../src/stack/settings.js'
import { readStackFile, type StackFile } from '../src/stack/stack-file.js'
import { freePortBase } from './free-ports.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
/** Generous, because the machine may be busy while tests run. */
const START_TIMEOUT_MS = 120_000
/** That of RFC 8037, appendix A.2. */
const PUBLIC_KEY = '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo'

interface Run {
  readonly child: ChildProcess
  /** Its output so far. */
  readonly said: () => string
  /** Its exit status. */
  readonly ended: Promise<number | null>
}

let directory: string
let portBase: string
let stackFile: string

beforeAll(async () => {
  directory = await realpath(await mkdtemp(join(tmpdir(), 'quick-start-')))
  stackFile = join(directory, 'stack.json')
  portBase = await freePortBase(directory)
})
afterAll(async () => {
  await rm(directory, { recursive: true, force: true })
})

function run(
  script: string,
  parameters: string[] = [],
  environment: Record<string, string> = {},
  cwd = ROOT
): Run {
  const child = spawn(process.execPath, [join(ROOT, script), ...parameters], {
    cwd,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      STACK_DIRECTORY: directory,
      STACK_PORT_BASE: portBase,
      // Not where the developer may be signed in.
      OPERATOR_CONFIG_DIRECTORY: join(directory, 'operator'),
      ...environment
    },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  const ended = once(child, 'close').then(([code]) => code as number | null)
  return { child, said: () => Buffer.concat(chunks).toString(), ended }
}

const start = (environment?: Record<string, string>): Run =>
  run('infra/stack/scripts/start.mjs', [], environment)

async function untilReady(stack: Run): Promise<StackFile> {
  const deadline = Date.now() + START_TIMEOUT_MS
  while (!stack.said().includes('Ctrl-C stops everything')) {
    if (stack.child.exitCode !== null || Date.now() > deadline) throw new Error(`not ready:\n${stack.said()}`)
    await delay(50)
  }
  return readStackFile(stackFile)
}

/** Waits until a run has said something. @throws Error with all that it said, if it ended without that */
async function whenSaid({ said, ended }: Run, what: RegExp): Promise<void> {
  while (!what.test(said())) {
    const hasEnded = await Promise.race([ended.then(() => true), delay(50, false)])
    if (hasEnded && !what.test(said())) throw new Error(said())
  }
}

/** A browser in which alice opened what a client asks of her, and signed in with her password. */
async function signInAsAlice(
  { authServer, web, signIn }: StackFile,
  redirect: string
): Promise<{ readonly browser: PlainBrowser; readonly asked: Arrived }> {
  const browser = new PlainBrowser([authServer, web.holder, signIn.issuer])
  const { username, password } = signIn.users.alice ?? { username: '', password: '' }
  const asked = await browser.open((await browser.open(redirect)).url, { username, password })
  return { browser, asked }
}

async function expectNothingLeft(): Promise<void> {
  expect(existsSync(stackFile)).toBe(false)
  await expect(assertPortsFree(readSettings({ STACK_PORT_BASE: portBase }).ports)).resolves.toBeUndefined()
}

describe('the ports', () => {
  it.each([
    ['6000', 'Port 6000 (for the auth server)'],
    ['5995', "Port 6000 (for the resource server's gRPC)"],
    ['5059', 'Port 5060 (for the resource server)'],
    ['10072', "Port 10080 (for the resource server's metrics)"],
    ['5050', 'Port 5060 (for the issuer, where people sign in)']
  ])('do not begin at %s, as browsers refuse one of them', (base, named) => {
    expect(() => readSettings({ STACK_PORT_BASE: base })).toThrow(named)
  })

  it('begin where browsers allow all of them', () => {
    for (const base of ['4000', '5000', '6001', '10081']) {
      expect(readSettings({ STACK_PORT_BASE: base }).ports.authHttp).toBe(Number(base))
    }
  })
})

describe('npm start', () => {
  let stack: Run
  let first: StackFile

  it(
    'starts everything, and says in stack.json where it is',
    async () => {
      stack = start()
      first = await untilReady(stack)
      const written = JSON.parse(await readFile(stackFile, 'utf8')) as Record<string, unknown>
      const client = {
        walletAddress: expect.any(String),
        keyId: expect.any(String),
        privateKeyFile: expect.any(String)
      }
      const base = Number(portBase)
      const resourceServer = `http://localhost:${String(base + 1)}`
      expect(written).toEqual({
        authServer: `http://localhost:${portBase}/`,
        resourceServer,
        authGrpc: `localhost:${String(base + 4)}`,
        resourceGrpc: `localhost:${String(base + 5)}`,
        walletAddresses: Object.fromEntries(
          ['alice', 'bob', 'carol', 'shop', 'market'].map((name) => [name, `${resourceServer}/${name}`])
        ),
        client: { ...client, walletAddress: `${resourceServer}/shop` },
        otherClient: { ...client, walletAddress: `${resourceServer}/market` },
        identityProvider: { api: `http://localhost:${String(base + 3)}`, secret: expect.any(String) },
        signIn: {
          issuer: `http://localhost:${String(base + 10)}`,
          commandLineClientId: 'operator-cli',
          users: Object.fromEntries(
            ['alice', 'bob', 'carol', 'operator'].map((username) => [
              username,
              { username, password: expect.stringMatching(/^.{11}$/) }
            ])
          )
        },
        web: {
          holder: `http://localhost:${String(base + 11)}`,
          console: `http://localhost:${String(base + 12)}`
        },
        peering: { ilpEndpoint: `http://localhost:${String(base + 9)}/`, ilpAddress: 'test.wallet' }
      })
    },
    START_TIMEOUT_MS
  )

  it('answers at the printed addresses', async () => {
    for (const url of Object.values(first.walletAddresses)) {
      const walletAddress = (await (await fetch(url)).json()) as Record<string, unknown>
      expect(walletAddress).toMatchObject({
        id: url,
        authServer: first.authServer,
        resourceServer: first.resourceServer
      })
    }
    const jwks = (await (await fetch(`${first.client.walletAddress}/jwks.json`)).json()) as {
      keys: { kid: string }[]
    }
    expect(jwks.keys.map(({ kid }) => kid)).toContain(first.client.keyId)
    const provider = `${first.resourceServer}/.well-known/pay`
    expect(await (await fetch(provider)).json()).toMatchObject({ id: provider, authServer: first.authServer })
  })

  /** What is printed of whom to sign in as: user name, place and password. */
  const printedSignIns = (): Record<string, { readonly place: string; readonly password: string }> => {
    const said = stripVTControlCharacters(stack.said())
    const [, lines = ''] =
      /Sign in, with a click or a password\n((?: +\S+ +http\S+ +\S+\n)+)/.exec(said) ?? []
    return Object.fromEntries(
      lines
        .trimEnd()
        .split('\n')
        .map((line) => line.trim().split(/ +/))
        .map(([username = '', place = '', password = '']) => [username, { place, password }])
    )
  }

  it('prints whom to sign in as, where, and with which password', () => {
    const { web, signIn } = first
    const places = { alice: web.holder, bob: web.holder, carol: web.holder, operator: web.console }
    expect(printedSignIns()).toEqual(
      Object.fromEntries(
        Object.entries(places).map(([name, place]) => [
          name,
          { place, password: signIn.users[name]?.password }
        ])
      )
    )
  })

  it('signs people in by a click or by the printed password, the operator at the console', async () => {
    const { signIn } = first
    for (const [username, { place, password }] of Object.entries(printedSignIns())) {
      const forms: Record<string, string>[] = [{ username, password }, { person: username }]
      for (const form of forms) {
        const browser = new PlainBrowser([place, signIn.issuer])
        const { url } = await browser.open(`${place}/`)
        const arrived = await browser.open(url, form)
        expect([arrived.status, arrived.url]).toEqual([200, `${place}/`])
        expect(arrived.text.toLowerCase()).toContain(username)
      }
    }
  })

  it('signs the operator in at the command line, without options', async () => {
    const { issuer, users } = first.signIn
    const cli = (...words: string[]): Run => run('packages/operator-cli/dist/main.js', words)
    const signingIn = cli('sign-in', '--no-browser')
    await whenSaid(signingIn, /http\S+\n/)
    const browser = new PlainBrowser([issuer])
    const form = await browser.open(/http\S+(?=\n)/.exec(signingIn.said())?.[0] ?? '')
    const { username, password } = users.operator ?? { username: '', password: '' }
    const page = await fetch((await browser.open(form.url, { username, password })).url)
    expect(await page.text()).toContain('You can close this window')
    expect(await signingIn.ended).toBe(0)
    expect(signingIn.said()).toContain(`operator-of-the-quick-start at ${issuer} (Operator)`)
    expect(signingIn.said()).toMatch(/At the resource server +viewer, operator, approver\n/)
    const freeze = cli('freeze', 'account', 'carol', '--reason', 'a try')
    expect(await freeze.ended).toBe(0)
    const thaw = cli('unfreeze', 'account', 'carol')
    expect(await thaw.ended).toBe(0)
    const acts = cli('actions', 'list', '--subject', 'carol', '--json')
    expect(await acts.ended).toBe(0)
    const operator = { issuer, sub: 'operator-of-the-quick-start', name: 'Operator' }
    const [last, before] = JSON.parse(acts.said()) as unknown[]
    expect([last, before]).toMatchObject([{ operator }, { operator }])
    const signOut = cli('sign-out')
    expect([await signOut.ended, signOut.said()]).toEqual([0, 'Signed out.\n'])
  })

  it('stores keys as PKCS#8 PEM, readable by their owner only', async () => {
    for (const { privateKeyFile } of [first.client, first.otherClient]) {
      expect(isAbsolute(privateKeyFile)).toBe(true)
      const pem = await readFile(privateKeyFile, 'utf8')
      expect(pem).toMatch(/^-----BEGIN PRIVATE KEY-----/)
      expect(createPrivateKey(pem).asymmetricKeyType).toBe('ed25519')
      expect((await stat(privateKeyFile)).mode & 0o077).toBe(0)
    }
    for (const name of ['secrets.json', 'stack.json']) {
      expect((await stat(join(directory, name))).mode & 0o077).toBe(0)
    }
    const { secret } = first.identityProvider
    for (const name of await readdir(join(directory, 'logs'))) {
      const log = await readFile(join(directory, 'logs', name), 'utf8')
      for (const { password } of Object.values(first.signIn.users)) expect(log).not.toContain(password)
      expect(log).not.toContain(secret)
    }
  })

  it('refuses to run twice on the same data, and names a port that is taken', async () => {
    const twice = start()
    expect(await twice.ended).toBe(1)
    expect(twice.said()).toContain(`runs already, as process ${String(stack.child.pid)}`)
    const elsewhere = start({ STACK_DIRECTORY: join(directory, 'other') })
    expect(await elsewhere.ended).toBe(1)
    expect(elsewhere.said()).toContain(`Port ${portBase}`)
    expect(elsewhere.said()).toContain('STACK_PORT_BASE')
  }, 300_000)

  it('lets the demo pay bob, and the audit is clean afterwards', async () => {
    const demo = run('infra/stack/scripts/demo.mjs', ['--yes'])
    expect(await demo.ended).toBe(0)
    expect(demo.said()).toContain('Bob has received 10.00 USD.')
    const targets = ['--auth', first.authGrpc, '--wallet', first.resourceGrpc]
    const audit = run('packages/operator-cli/dist/main.js', ['audit', ...targets])
    expect(await audit.ended).toBe(0)
    expect(audit.said()).toContain('invariants hold')
  })

  it('lets the demo open a browser, in which alice signs in and consents', async () => {
    const programs = await mkdtemp(join(directory, 'programs-'))
    const opened = join(programs, 'opened')
    const script = `#!/bin/sh\nprintf '%s\\n' "$@" > '${opened}'\n`
    for (const name of ['xdg-open', 'open']) await writeFile(join(programs, name), script, { mode: 0o755 })
    const demo = run('infra/stack/scripts/demo.mjs', [], { PATH: `${programs}:${process.env.PATH ?? ''}` })
    while (!existsSync(opened) || !(await readFile(opened, 'utf8')).endsWith('\n')) {
      if (demo.child.exitCode !== null) throw new Error(demo.said())
      await delay(50)
    }
    const redirect = (await readFile(opened, 'utf8')).trimEnd()
    expect(redirect).toMatch(/^http\S+\/interact\/\S+$/)
    expect(demo.said()).toContain(redirect)
    const { password = '' } = first.signIn.users.alice ?? {}
    expect(demo.said()).toContain(`as alice with the password ${password}`)
    const { browser, asked } = await signInAsAlice(first, redirect)
    const { action, fields } = formOf(asked)
    const decided = await browser.open(action, { ...fields, choice: 'allow' })
    expect(await (await fetch(decided.url)).text()).toContain('Go back to the terminal')
    expect([await demo.ended, demo.said()]).toEqual([
      0,
      expect.stringContaining('Bob has received 10.00 USD.')
    ])
  })

  it('lets the first payment by hand succeed, with a consent that names the receiver', async () => {
    const cwd = join(directory, 'elsewhere')
    await mkdir(cwd)
    const tooEarly = run('infra/stack/examples/first-payment.mjs', [], {}, cwd)
    expect(await tooEarly.ended).toBe(1)
    expect(tooEarly.said()).toMatch(/^The stack does not run: start it with `npm start`.*\n$/)

    await symlink(directory, join(cwd, '.local'))
    const payment = run('infra/stack/examples/first-payment.mjs', [], {}, cwd)
    await whenSaid(payment, /\/interact\/\S+\n/)
    const [redirect = ''] = /http\S+/.exec(payment.said()) ?? []
    const { browser, asked } = await signInAsAlice(first, redirect)
    expect(new URL(asked.url).origin).toBe(first.web.holder)
    expect(asked.text).toMatch(/10\.00\sUSD/)
    const { searchParams } = new URL(asked.url)
    const grant = `${searchParams.get('interactId') ?? ''}/${searchParams.get('nonce') ?? ''}`
    const { api, secret } = first.identityProvider
    const read = await fetch(`${api}/grant/${grant}`, { headers: { 'x-idp-secret': secret } })
    expect(await read.text()).toContain(`"receiver":"${first.resourceServer}/incoming-payments/`)
    // Nobody reads faster than the server wants the client to wait: 5 seconds.
    await delay(5_100)
    const { action, fields } = formOf(asked)
    const decided = await browser.open(action, { ...fields, choice: 'allow' })
    expect(new URL(decided.url).searchParams.get('interact_ref')).toMatch(/^[\w-]{43}$/)
    await fetch(decided.url)
    const backAt = Date.now()
    await whenSaid(payment, /^Paid: /m)
    expect(Date.now() - backAt).toBeLessThan(4_900)
    expect([await payment.ended, payment.said()]).toEqual([
      0,
      expect.stringContaining('Bob has received 10.00 USD.')
    ])
  }, 300_000)

  it('stops on SIGTERM with status 0, and leaves nothing behind', async () => {
    stack.child.kill('SIGTERM')
    expect(await stack.ended).toBe(0)
    await expectNothingLeft()
    const demo = run('infra/stack/scripts/demo.mjs', ['--yes'])
    expect(await demo.ended).toBe(1)
    expect(demo.said()).toContain('npm start')
  }, 300_000)

  it(
    'goes on with the same data when it is started again: keys, secrets, money',
    async () => {
      stack = start()
      expect(await untilReady(stack)).toEqual(first)
      const targets = ['--auth', first.authGrpc, '--wallet', first.resourceGrpc]
      const accounts = run('packages/operator-cli/dist/main.js', ['account', 'list', '--json', ...targets])
      expect(await accounts.ended).toBe(0)
      expect(JSON.parse(accounts.said())).toMatchObject([
        { name: 'alice', balance: { value: '99997000' }, holder: { issuer: first.signIn.issuer } },
        { name: 'bob', balance: { value: '3000' }, holder: { issuer: first.signIn.issuer } },
        { name: 'carol', holder: { issuer: first.signIn.issuer } },
        { name: 'market', holder: null },
        { name: 'shop', holder: null }
      ])
    },
    START_TIMEOUT_MS
  )

  it('supports balances above the maximum amount, which the operator sees in full', async () => {
    const targets = ['--auth', first.authGrpc, '--wallet', first.resourceGrpc]
    const operate = async (...words: string[]): Promise<unknown> => {
      const command = run('packages/operator-cli/dist/main.js', [...words, '--json', ...targets])
      expect([await command.ended, words, command.said()]).toEqual([0, words, expect.any(String)])
      return JSON.parse(command.said())
    }
    await operate('asset', 'create', 'ETH', '18')
    await operate('account', 'create', 'vault', '--asset', 'ETH')
    const balance = { value: '20000000000000000000', assetCode: 'ETH', assetScale: 18 }
    await operate('deposit', 'vault', '10')
    expect(await operate('deposit', 'vault', '10')).toMatchObject({ account: { balance } })
    expect(await operate('account', 'list')).toContainEqual(
      expect.objectContaining({ name: 'vault', balance, available: balance })
    )
    expect(await operate('withdraw', 'vault', '18')).toMatchObject({
      account: { balance: { value: '2000000000000000000' } }
    })
    expect(await operate('audit')).toMatchObject({ holds: true })
  }, 300_000)

  it('tells what awaits an operator', async () => {
    const targets = ['--json', '--auth', first.authGrpc, '--wallet', first.resourceGrpc]
    const operate = async (...words: string[]): Promise<unknown> => {
      const command = run('packages/operator-cli/dist/main.js', [...words, ...targets])
      return [await command.ended, JSON.parse(command.said())]
    }
    const [exit, matters] = (await operate('status')) as [number, { count: number }[]]
    expect([exit, matters.filter(({ count }) => count > 0)]).toEqual([0, []])
    const tokens = ['--outgoing-token', 'a'.repeat(20), '--incoming-token', 'b'.repeat(20)]
    const place = ['--ilp-address', 'test.low', '--endpoint', 'http://localhost:1/']
    const asset = ['--asset-code', 'USD', '--asset-scale', '2']
    const bounds = ['--limit', '100', '--low-alert', '101']
    await operate('peer', 'create', 'low', ...asset, ...place, ...tokens, ...bounds)
    expect(await operate('status')).toEqual([
      3,
      expect.arrayContaining([{ what: 'peers that can pay little more', count: 1, see: 'peer list' }])
    ])
  }, 300_000)

  it('names options and arguments to an operator whose command is refused, and no field of the contract', async () => {
    const targets = ['--auth', first.authGrpc, '--wallet', first.resourceGrpc]
    const refusalOf = async (...words: string[]): Promise<string> => {
      const command = run('packages/operator-cli/dist/main.js', [...words, ...targets])
      expect([await command.ended, command.said()]).toEqual([1, expect.stringMatching(/^error: .*\n$/)])
      return command.said().slice('error: '.length, -1)
    }
    const deposit = ['deposit', 'alice', '--id', '01936000-0000-7000-8000-000000000001']
    const withdraw = ['withdraw', 'alice', '--id', '01936000-0000-7000-8000-000000000001']
    const create = ['wallet-address', 'create', '--account', 'alice']
    const addKey = (x: string, ...words: string[]): Promise<string> =>
      refusalOf('client-key', 'add', '--public-key', x, ...words)
    const done = run('packages/operator-cli/dist/main.js', [...deposit, '1', ...targets])
    expect([await done.ended, done.said()]).toEqual([0, expect.any(String)])
    expect(await refusalOf('asset', 'create', 'usd', '2')).toBe('the code must be in capitals: USD')
    expect(await refusalOf('asset', 'create', 'U SD', '2')).toBe(
      'the code must be 1 to 32 visible ASCII characters, for example "USD"'
    )
    expect(await refusalOf(...deposit, '2')).toBe('another transfer has this id')
    expect(await refusalOf(...withdraw, '1')).toBe('another transfer has this id')
    expect(await refusalOf('deposit', 'alice', '1.001')).toBe('the amount has 3 decimals; USD has 2')
    expect(await refusalOf('deposit', 'alice', 'much')).toBe(
      'the amount must be a decimal number without a sign, for example "12.50"'
    )
    expect(await refusalOf('account', 'create', 'Alice', '--asset', 'USD')).toMatch(
      /^the account name must be 1 to 64 of /
    )
    expect(await refusalOf(...create, '/alice2', '--public-name', 'x'.repeat(129))).toBe(
      '--public-name must be at most 128 characters, none of them control characters'
    )
    expect(await refusalOf(...create, 'alice2')).toMatch(/^the path must begin with /)
    expect(await addKey(PUBLIC_KEY, `${first.resourceServer}/nobody`)).toBe(
      'there is no such wallet address here'
    )
    expect(await addKey(PUBLIC_KEY, `${first.resourceServer}/alice`, '--kid', 'a b')).toBe(
      'the key id must be 1 to 128 visible ASCII characters'
    )
    expect(await addKey('A'.repeat(43), `${first.resourceServer}/alice`)).toBe(
      'the public key is a point of small order, which is no key'
    )
  }, 300_000)

  it('stops once, in order, after several signals', async () => {
    for (const signal of ['SIGINT', 'SIGINT', 'SIGTERM'] as const) stack.child.kill(signal)
    expect(await stack.ended).toBe(0)
    await expectNothingLeft()
    expect(stack.said().match(/Stopping/g)).toHaveLength(1)
  }, 300_000)

  it(
    'shows the last words of a service that ends by itself, stops everything and ends with status 1',
    async () => {
      const failing = start({ EXCHANGE_RATES: 'USD to EUR is about one' })
      expect(await failing.ended).toBe(1)
      expect(failing.said()).toContain('EXCHANGE_RATES')
      expect(failing.said()).toContain('resource-server ended with status 1')
      await expectNothingLeft()
    },
    START_TIMEOUT_MS
  )
})

describe('npm start with two providers', () => {
  const environment = () => ({ STACK_DIRECTORY: join(directory, 'two') })

  it(
    'says where both are, and lets alice pay dora and evan, who are at the other one',
    async () => {
      const stack = run('infra/stack/scripts/start.mjs', ['--providers', '2'], environment())
      const said = stack.said
      const deadline = Date.now() + 2 * START_TIMEOUT_MS
      while (!said().includes('Ctrl-C stops everything')) {
        if (stack.child.exitCode !== null || Date.now() > deadline) throw new Error(`not ready:\n${said()}`)
        await delay(50)
      }
      const file = await readStackFile(join(environment().STACK_DIRECTORY, 'stack.json'))
      const second = file.secondProvider
      const secondResourceServer = `http://localhost:${String(Number(portBase) + 51)}`
      expect(second).toMatchObject({
        authServer: `http://localhost:${String(Number(portBase) + 50)}/`,
        resourceServer: secondResourceServer,
        walletAddresses: { dora: `${secondResourceServer}/dora`, evan: `${secondResourceServer}/evan` },
        signIn: { issuer: `http://localhost:${String(Number(portBase) + 60)}` },
        peering: { ilpEndpoint: `http://localhost:${String(Number(portBase) + 59)}/` }
      })

      const demo = run('infra/stack/scripts/demo.mjs', ['--across', '--yes'], environment())
      expect([await demo.ended, demo.said()]).toEqual([
        0,
        expect.stringContaining('Dora has received 10.00 EUR.')
      ])
      const toEvan = run('infra/stack/scripts/demo.mjs', ['--across', '--to', 'evan', '--yes'], environment())
      expect([await toEvan.ended, toEvan.said()]).toEqual([
        0,
        expect.stringContaining('Evan has received 10.00 USD.')
      ])
      const toNobody = run('infra/stack/scripts/demo.mjs', ['--to', 'evan', '--yes'], environment())
      expect([await toNobody.ended, toNobody.said()]).toEqual([
        1,
        expect.stringContaining('evan has no wallet there. These have: alice, bob, carol, shop, market')
      ])
      for (const provider of [file, second]) {
        const targets = ['--auth', provider?.authGrpc ?? '', '--wallet', provider?.resourceGrpc ?? '']
        const audit = run('packages/operator-cli/dist/main.js', ['audit', ...targets])
        expect([await audit.ended, audit.said()]).toEqual([0, expect.stringContaining('invariants hold')])
      }
      stack.child.kill('SIGTERM')
      expect(await stack.ended).toBe(0)
    },
    4 * START_TIMEOUT_MS
  )

  it('names what it does not know', async () => {
    const unknown = run('infra/stack/scripts/start.mjs', ['--providers', '3'], environment())
    expect(await unknown.ended).toBe(1)
    expect(unknown.said()).toContain('Usage: npm start')
  })
})
