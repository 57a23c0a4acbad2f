import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { UnsecuredJWT } from 'jose'
import { forgetSignIn, keepSignIn, readKeptSignIn, signInFile } from './kept-sign-in.js'

const ISSUER = 'https://login.wallet.test'
const NOW = Date.UTC(2026, 0, 15, 9)

/** A token that says this. Who signed it is for the services to find out. */
function tokenOf(claims: Record<string, unknown> = {}): string {
  const shape = { iss: ISSUER, aud: 'cli', sub: 'olga-7', exp: NOW / 1_000 + 1, ...claims }
  return `${new UnsecuredJWT(shape).encode()}c2lnbmF0dXJl`
}

const OLGA = { issuer: ISSUER, clientId: 'cli', idToken: tokenOf() }

let home: string
let file: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'kept-sign-in-'))
  file = signInFile({ HOME: home }) ?? ''
})
afterEach(() => rm(home, { recursive: true }))

describe('where a sign-in is kept', () => {
  it.each([
    [{ HOME: '/home/olga' }, '/home/olga/.config/open-payments/sign-in.json'],
    [{ HOME: '/home/olga', XDG_CONFIG_HOME: '/etc/olga' }, '/etc/olga/open-payments/sign-in.json'],
    [{ HOME: '/home/olga', XDG_CONFIG_HOME: '' }, '/home/olga/.config/open-payments/sign-in.json'],
    [{ HOME: '/home/olga', OPERATOR_CONFIG_DIRECTORY: '/run/desk' }, '/run/desk/sign-in.json'],
    [{}, undefined]
  ])('is named by %j', (environment, expected) => {
    expect(signInFile(environment)).toBe(expected)
  })
})

describe('a kept sign-in', () => {
  it('is read as it was kept, by its owner alone, whatever the umask', async () => {
    const umask = process.umask(0)
    try {
      await keepSignIn(file, OLGA)
    } finally {
      process.umask(umask)
    }
    expect(await readKeptSignIn(file, NOW)).toEqual(OLGA)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await stat(join(file, '..'))).mode & 0o777).toBe(0o700)
  })

  it('takes the place of the one before, and leaves nothing else behind', async () => {
    await keepSignIn(file, { ...OLGA, idToken: tokenOf({ sub: 'tom-8' }) })
    await keepSignIn(file, OLGA)
    expect(await readKeptSignIn(file, NOW)).toEqual(OLGA)
    expect(await readdir(join(file, '..'))).toEqual(['sign-in.json'])
  })

  it('is nobody before, and after it was forgotten', async () => {
    expect(await readKeptSignIn(file, NOW)).toBeUndefined()
    expect(await forgetSignIn(file)).toBe(false)
    await keepSignIn(file, OLGA)
    expect(await forgetSignIn(file)).toBe(true)
    expect(await readKeptSignIn(file, NOW)).toBeUndefined()
  })

  it('is refused once it has ended, with what to do', async () => {
    await keepSignIn(file, OLGA)
    expect(await readKeptSignIn(file, NOW + 999)).toEqual(OLGA)
    await expect(readKeptSignIn(file, NOW + 1_000)).rejects.toThrow(
      `the sign-in at ${ISSUER} ended at 2026-01-15T09:00:01.000Z: \`sign-in\` again, or \`sign-out\` to act as this machine`
    )
  })

  it.each(['640', '604', '620', '666'])(
    'is refused when others can reach the file: mode %s',
    async (mode) => {
      await keepSignIn(file, OLGA)
      await chmod(file, Number.parseInt(mode, 8))
      await expect(readKeptSignIn(file, NOW)).rejects.toThrow(
        `${file} can be read by others (mode ${mode}), and is not used: chmod 600 '${file}'`
      )
      expect(await forgetSignIn(file)).toBe(true)
    }
  )

  it('is not kept in a folder that others can reach', async () => {
    const folder = join(home, 'shared')
    await mkdir(folder)
    await chmod(folder, 0o755)
    await expect(keepSignIn(join(folder, 'sign-in.json'), OLGA)).rejects.toThrow(`chmod 700 '${folder}'`)
    expect(await readdir(folder)).toEqual([])
  })

  it.each<[string, (text: string) => string]>([
    ['empty', () => ''],
    ['cut off', (text) => text.slice(0, -20)],
    ['no object', () => '"text"'],
    ['of another issuer', (text) => text.replace(ISSUER, 'https://other.test')],
    ['of another client', (text) => text.replace('"cli"', '"console"')],
    ['without a token', (text) => text.replace(OLGA.idToken, 'correct horse')],
    ['with a token that never ends', (text) => text.replace(OLGA.idToken, tokenOf({ exp: undefined }))],
    ['with a token that ends beyond all time', (text) => text.replace(OLGA.idToken, tokenOf({ exp: 1e300 }))],
    ['with something else', (text) => text.replace('{', '{"refreshToken":"x",')],
    ['too large', (text) => text + ' '.repeat(65_536)]
  ])('is refused when it is %s, and not told', async (_how, damage) => {
    await keepSignIn(file, OLGA)
    await writeFile(file, damage(await readFile(file, 'utf8')))
    await expect(readKeptSignIn(file, NOW)).rejects.toThrow(
      new Error(`${file} is damaged: \`sign-in\` again, or \`sign-out\``)
    )
  })

  it('is refused when it cannot be read', async () => {
    await mkdir(file, { recursive: true, mode: 0o700 })
    await expect(readKeptSignIn(file, NOW)).rejects.toThrow(`the sign-in in ${file} cannot be read: EISDIR`)
  })
})
