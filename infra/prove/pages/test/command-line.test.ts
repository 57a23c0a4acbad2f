import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, chmod, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import {
  type CommandOutput,
  OPERATOR_CLI,
  operatorCliEnvironment,
  runOperatorCli
} from '@open-payments-server/acceptance'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { formOf, PlainBrowser } from '@open-payments-server/testing/browser'
import { type ConsoleSetting, credentialsOf, startConsole } from './support/console-setting.js'

/** Somebody who is to sign in: the command waits. */
interface SigningIn {
  /** Where the command sends the browser. */
  readonly url: string
  /** What it shows to be entered there, with `--device`. */
  readonly code: Promise<string>
  /** Exit status, and all that was printed. */
  readonly ended: Promise<{ status: number | null; stdout: string; stderr: string }>
}

let setting: ConsoleSetting
let folder: string
const begun: ReturnType<typeof spawn>[] = []

beforeAll(async () => {
  setting = await startConsole()
})
afterAll(() => setting.stop())
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'command-line-'))
})
afterEach(async () => {
  for (const child of begun.splice(0)) child.kill()
  await rm(folder, { recursive: true })
})

const file = (): string => join(folder, 'open-payments', 'sign-in.json')

function cli(...words: string[]): Promise<CommandOutput> {
  return runOperatorCli(setting.system, words, { XDG_CONFIG_HOME: folder })
}

/** Begins to sign in, until the command says where. */
async function beginSignIn(...flags: string[]): Promise<SigningIn> {
  const { issuer, clientId } = setting.commandLine
  const words = ['sign-in', '--no-browser', '--issuer', issuer, '--client-id', clientId, ...flags]
  const env = { ...operatorCliEnvironment(setting.system), XDG_CONFIG_HOME: folder }
  const child = spawn(process.execPath, [OPERATOR_CLI, ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  begun.push(child)
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr += chunk
  })
  /** The first text of the standard error output that this finds. */
  const said = async (pattern: RegExp): Promise<string> => {
    for (;;) {
      const [found] = pattern.exec(stderr) ?? []
      if (found !== undefined) return found
      if (child.stderr.readableEnded) throw new Error(`ended early: ${stderr}`)
      await Promise.race([once(child.stderr, 'data'), once(child.stderr, 'end')])
    }
  }
  const stdout = text(child.stdout)
  const ended = once(child, 'close').then(async ([status]) => ({
    status: status as number | null,
    stdout: await stdout,
    stderr
  }))
  const url = await said(/http\S+(?=\n)/)
  return {
    url,
    code: flags.includes('--device') ? said(/[A-Z]{4}-[A-Z]{4}(?=\n)/) : Promise.resolve(''),
    ended
  }
}

/** Signs in at the issuer's form. Returns where the browser is sent back to, which nobody has asked yet. */
async function passForm(url: string, name: Parameters<typeof credentialsOf>[0]): Promise<string> {
  const browser = new PlainBrowser([setting.commandLine.issuer])
  const form = await browser.open(url)
  return (await browser.open(form.url, credentialsOf(name))).url
}

async function signIn(name: Parameters<typeof credentialsOf>[0]): Promise<unknown> {
  const { url, ended } = await beginSignIn('--json')
  const page = await fetch(await passForm(url, name))
  expect([page.status, await page.text()]).toEqual([
    200,
    expect.stringContaining('You can close this window')
  ])
  const { status, stdout, stderr } = await ended
  expect([status, stderr]).toEqual([0, expect.stringContaining(url)])
  const { idToken } = JSON.parse(await readFile(file(), 'utf8')) as { idToken: string }
  expect(stdout + stderr).not.toContain(idToken)
  return JSON.parse(stdout) as unknown
}

/** Who did the last acts, the newest first. */
async function actors(count: number): Promise<unknown[]> {
  const { stdout } = await cli('actions', 'list', '--subject', 'carol', '--limit', String(count))
  return (JSON.parse(stdout) as { operator: unknown }[]).map(({ operator }) => operator)
}

const refusalOf = ({ stderr }: CommandOutput): unknown => (JSON.parse(stderr) as { error: unknown }).error

describe('an operator who signs in at the command line', () => {
  it('acts by their own roles and under their own name, until they sign out', async () => {
    const { issuer, clientId } = setting.commandLine
    const both = (roles: readonly string[]) =>
      ['auth-server', 'resource-server'].map((service) => ({ service, roles, problem: null }))
    expect(await signIn('victor')).toEqual({
      ...{ issuer, clientId, sub: 'victor', name: 'victor <b>Example</b>', services: both(['viewer']) },
      endsAt: expect.stringMatching(/^20\d\d-.*Z$/)
    })
    expect((await cli('account', 'list')).status).toBe(0)
    expect(refusalOf(await cli('freeze', 'account', 'carol', '--reason', 'looks odd'))).toMatchObject({
      code: 'PERMISSION_DENIED',
      message: 'This call needs the role operator, which the operator does not have'
    })

    expect(await signIn('olivia')).toMatchObject({ sub: 'olivia', services: both(['operator']) })
    expect((await cli('freeze', 'account', 'carol', '--reason', 'stolen phone')).status).toBe(0)
    const olivia = { issuer, sub: 'olivia', name: 'olivia <b>Example</b>' }
    expect(await actors(1)).toEqual([olivia])

    expect((await cli('sign-out')).items).toEqual([{ wasSignedIn: true }])
    await expect(access(file())).rejects.toThrow('ENOENT')
    expect((await cli('sign-out')).items).toEqual([{ wasSignedIn: false }])
    expect((await cli('unfreeze', 'account', 'carol')).status).toBe(0)
    expect(await actors(2)).toEqual([{ machine: 'development' }, olivia])
  })

  it('is told who they are where people read it, also when they may do nothing', async () => {
    const { url, ended } = await beginSignIn()
    await fetch(await passForm(url, 'nobody'))
    const { status, stdout } = await ended
    const { issuer } = setting.commandLine
    expect(status).toBe(0)
    expect(stdout).toContain(`nobody at ${issuer} (nobody <b>Example</b>)`)
    const without = 'This call needs the role viewer, which the operator does not have'
    expect(stdout).toMatch(new RegExp(`At the auth server +${without}\n`))
    expect(stdout).toMatch(new RegExp(`At the resource server +${without}\n`))
    expect(stdout).toMatch(/Until +20\d\d-/)
  })
})

describe('an operator who signs in on another machine', () => {
  it('enters the code that the command shows, and is signed in there', async () => {
    const { issuer } = setting.commandLine
    const { url, code, ended } = await beginSignIn('--json', '--device')
    expect(url).toBe(`${issuer}/device`)
    const browser = new PlainBrowser([issuer])
    const asked = formOf(await browser.open(url))
    const wrong = await browser.open(asked.action, { ...asked.fields, user_code: 'BBBB-BBBB' })
    expect(wrong.text).toContain('This code is wrong')
    const again = formOf(wrong)
    const confirm = await browser.open(again.action, { ...again.fields, user_code: await code })
    expect(confirm.text).toContain(`must show the code <strong>${await code}</strong>`)
    const confirmed = formOf(confirm)
    const form = await browser.open(confirmed.action, confirmed.fields)
    const done = await browser.open(form.url, credentialsOf('olivia'))
    expect(done.text).toContain('You can close this window')
    const { status, stdout } = await ended
    expect([status, JSON.parse(stdout)]).toMatchObject([0, { sub: 'olivia' }])
    expect((await cli('freeze', 'account', 'carol')).status).toBe(0)
    expect(await actors(1)).toMatchObject([{ sub: 'olivia' }])
  })

  it('is not signed in when they say that the code is not theirs', async () => {
    const { url, code, ended } = await beginSignIn('--device')
    const browser = new PlainBrowser([setting.commandLine.issuer])
    const asked = formOf(await browser.open(url))
    const confirm = formOf(await browser.open(asked.action, { ...asked.fields, user_code: await code }))
    await browser.open(confirm.action, { ...confirm.fields, abort: 'yes' })
    const { status, stdout, stderr } = await ended
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toContain('signed nobody in: access_denied\n')
    expect(await readdir(folder)).toEqual([])
  })
})

describe('nobody is signed in', () => {
  /** Ends with exit status 1 and this reason, and nothing is kept. */
  const expectNobody = async ({ ended }: SigningIn, reason: string | RegExp): Promise<void> => {
    const { status, stdout, stderr } = await ended
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(reason)
    expect(await readdir(folder)).toEqual([])
  }

  it('by a code and a state that nobody asked for; whoever was asked still is', async () => {
    const waiting = await beginSignIn()
    const other = await beginSignIn()
    const back = await passForm(waiting.url, 'olivia')
    const stolen = new URL(await passForm(other.url, 'victor'))
    stolen.port = new URL(back).port
    expect((await fetch(stolen)).status).toBe(400)
    expect(await readdir(folder)).toEqual([])
    expect((await fetch(back)).status).toBe(200)
    expect((await waiting.ended).stdout).toContain('olivia at')
  })

  it('by the code of another sign-in, even with the right state', async () => {
    const waiting = await beginSignIn()
    const other = await beginSignIn()
    const back = new URL(await passForm(waiting.url, 'olivia'))
    const stolen = new URL(await passForm(other.url, 'victor'))
    back.searchParams.set('code', stolen.searchParams.get('code') ?? '')
    const page = await fetch(back)
    expect([page.status, await page.text()]).toEqual([
      400,
      expect.stringContaining('The terminal says why. You can close this window.')
    ])
    await expectNobody(waiting, 'signed nobody in: invalid_grant\n')
  })

  it.each([
    ['by the answer of another issuer', 'iss', 'https://evil.test'],
    ['by an answer that no issuer signs for', 'iss', undefined]
  ])('%s', async (_what, name, value) => {
    const waiting = await beginSignIn()
    const back = new URL(await passForm(waiting.url, 'olivia'))
    expect(back.searchParams.get(name)).toBe(setting.commandLine.issuer)
    if (value === undefined) back.searchParams.delete(name)
    else back.searchParams.set(name, value)
    expect((await fetch(back)).status).toBe(400)
    await expectNobody(waiting, /signed nobody in: .*iss/)
  })

  it('twice by the same answer', async () => {
    const waiting = await beginSignIn()
    const back = await passForm(waiting.url, 'olivia')
    const answers = await Promise.allSettled([fetch(back), fetch(back)])
    const pages = answers.filter((each) => each.status === 'fulfilled').map(({ value }) => value.status)
    expect(pages.filter((status) => status === 200)).toEqual([200])
    expect((await waiting.ended).status).toBe(0)
    await expect(fetch(back)).rejects.toThrow('fetch failed')
  })

  it('where it cannot be kept for the operator alone, and the page does not say otherwise', async () => {
    const waiting = await beginSignIn()
    await mkdir(join(folder, 'open-payments'))
    await chmod(join(folder, 'open-payments'), 0o755)
    expect((await fetch(await passForm(waiting.url, 'olivia'))).status).toBe(400)
    const { status, stdout, stderr } = await waiting.ended
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toContain('chmod 700')
    expect(await readdir(join(folder, 'open-payments'))).toEqual([])
  })

  it('by whoever does not go on at the issuer, which says so in a word', async () => {
    const waiting = await beginSignIn()
    const asked = new URL(waiting.url).searchParams
    const back = new URL(asked.get('redirect_uri') ?? '')
    const words = {
      error: 'access_denied',
      error_description: '\u001b[31mpay mallory',
      iss: setting.commandLine.issuer
    }
    for (const [name, value] of Object.entries({ ...words, state: asked.get('state') ?? '' }))
      back.searchParams.set(name, value)
    expect((await fetch(back)).status).toBe(400)
    await expectNobody(waiting, 'signed nobody in: access_denied\n')
  })

  it('by an issuer that is not the one that was meant', async () => {
    const { issuer, clientId } = setting.commandLine
    const { status, stderr } = await cli(
      'sign-in',
      '--issuer',
      issuer.replace('localhost', '127.0.0.1'),
      '--client-id',
      clientId
    )
    expect([status, stderr]).toEqual([1, expect.stringContaining('cannot be asked: ')])
    const slash = await cli('sign-in', '--issuer', `${issuer}/`, '--client-id', clientId)
    expect(slash.stderr).toContain(`calls itself ${issuer}: give exactly that`)
  })
})
