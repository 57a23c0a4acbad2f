import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { createHandlers, type RunningGrpcServer, startGrpcServer } from '@open-payments-server/grpc-transport'
import { auth, fileDescriptors } from '@open-payments-server/proto'
import { createLogger } from '@open-payments-server/runtime'
import { UnsecuredJWT } from 'jose'
import { keepSignIn } from './kept-sign-in.js'
import { runCli } from './run-cli.js'

const TOKEN = 'e30.e30.c2lnbmF0dXJl'
const logger = createLogger({ service: 'fake', level: 'silent' })
/** The tokens of every call, by arrival. */
const sent: unknown[][] = []
let folder: string
let server: RunningGrpcServer

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'operator-token-'))
  const listGrants = createHandlers(logger).unary((_request: unknown, { metadata }) => {
    sent.push(metadata.get('operator-token'))
    return Promise.resolve({ grants: [], nextPageToken: '' })
  })
  server = await startGrpcServer({
    ...{ host: '127.0.0.1', port: 0, reflection: false, fileDescriptors, logger },
    services: [{ definition: auth.GrantOperatorServiceService, implementation: { listGrants } }],
    connectionAgeMaxMs: 60_000,
    messageBytesMax: 1 << 20
  })
})
afterAll(async () => {
  await server.stop(1_000)
  await rm(folder, { recursive: true })
})

async function run(
  words: readonly string[],
  environment: Record<string, string> = {},
  stackFile = '/nowhere/stack.json',
  targets: Record<string, string> = {
    AUTH_GRPC_TARGET: server.address,
    WALLET_GRPC_TARGET: server.address
  }
) {
  let stderr = ''
  const status = await runCli(words, {
    environment: { ...targets, ...environment },
    name: 'operator',
    stackFile,
    awaitInterruption: () => new AbortController().signal,
    openPage: () => undefined,
    stdout: () => undefined,
    stderr: (text) => (stderr += text),
    colors: false
  })
  return { status, stderr }
}

describe('the token of an operator', () => {
  it('is read from the file of the flag, else of the environment, and sent', async () => {
    const path = join(folder, 'token')
    await writeFile(path, `${TOKEN}\n`)
    sent.length = 0
    expect(await run(['--token-file', path, 'grant', 'list'])).toEqual({ status: 0, stderr: '' })
    expect(await run(['grant', 'list'], { OPERATOR_TOKEN_FILE: path })).toEqual({ status: 0, stderr: '' })
    expect(await run(['grant', 'list'])).toEqual({ status: 0, stderr: '' })
    expect(sent).toEqual([[TOKEN], [TOKEN], []])
  })

  it('is refused before any call when the file is not there, or has none, and is not printed', async () => {
    sent.length = 0
    const nowhere = await run(['--token-file', join(folder, 'nowhere'), 'grant', 'list'])
    expect(nowhere).toMatchObject({ status: 1 })
    expect(nowhere.stderr).toContain('--token-file (OPERATOR_TOKEN_FILE): ENOENT')
    const path = join(folder, 'password')
    await writeFile(path, 'correct horse')
    const malformed = await run(['--token-file', path, 'grant', 'list'])
    expect(malformed).toEqual({
      status: 1,
      stderr: `error: --token-file (OPERATOR_TOKEN_FILE): ${path} has no ID token in it\n`
    })
    expect(sent).toEqual([])
  })
})

describe('who signed in', () => {
  const issuer = 'https://login.wallet.test'
  const signedIn = (expiresInSeconds = 600) => {
    const exp = Math.floor(Date.now() / 1_000) + expiresInSeconds
    const token = new UnsecuredJWT({ iss: issuer, aud: 'cli', sub: 'olga-7', exp }).encode()
    return { issuer, clientId: 'cli', idToken: `${token}c2lnbmF0dXJl` }
  }
  let environment: Record<string, string>
  let file: string
  beforeEach(async () => {
    environment = { OPERATOR_CONFIG_DIRECTORY: await mkdtemp(join(folder, 'config-')) }
    file = join(environment.OPERATOR_CONFIG_DIRECTORY ?? '', 'sign-in.json')
    sent.length = 0
  })

  it('acts in the commands after that, unless a token is given', async () => {
    const kept = signedIn()
    await keepSignIn(file, kept)
    expect(await run(['grant', 'list'], environment)).toEqual({ status: 0, stderr: '' })
    const path = join(folder, 'other-token')
    await writeFile(path, TOKEN)
    await run(['--token-file', path, 'grant', 'list'], environment)
    await run(['grant', 'list'], { ...environment, OPERATOR_TOKEN_FILE: path })
    expect(sent).toEqual([[kept.idToken], [TOKEN], [TOKEN]])
  })

  it('acts no more once the sign-in has ended: the machine does not take their place', async () => {
    await keepSignIn(file, signedIn(0))
    const { status, stderr } = await run(['grant', 'list'], environment)
    expect([status, stderr]).toEqual([1, expect.stringContaining('ended at')])
    expect(stderr).toContain('`sign-in` again')
    await chmod(file, 0o644)
    expect((await run(['grant', 'list'], environment)).stderr).toContain('can be read by others')
    expect(sent).toEqual([])
    expect(await run(['sign-out'], environment)).toEqual({ status: 0, stderr: '' })
    expect((await run(['grant', 'list'], environment)).status).toBe(0)
    expect(sent).toEqual([[]])
  })

  it('is not shown to services whose operators sign in elsewhere', async () => {
    const { idToken } = signedIn()
    await keepSignIn(file, signedIn())
    const refused = `error: the sign-in is at ${issuer} for cli, but operators sign in at`
    const elsewhere = { ...environment, OPERATOR_ISSUER: 'https://other.test', OPERATOR_CLIENT_ID: 'cli' }
    expect((await run(['grant', 'list'], elsewhere)).stderr).toContain(
      `${refused} https://other.test for cli`
    )
    const client = { ...environment, OPERATOR_ISSUER: issuer, OPERATOR_CLIENT_ID: 'other' }
    expect((await run(['grant', 'list'], client)).stderr).toContain(`${refused} ${issuer} for other`)
    const stackFile = join(folder, 'stack.json')
    const stack = { authGrpc: server.address, resourceGrpc: server.address }
    const signIn = { issuer: 'http://localhost:4010', commandLineClientId: 'operator-cli' }
    await writeFile(stackFile, JSON.stringify({ ...stack, signIn }))
    expect((await run(['grant', 'list'], environment, stackFile, {})).stderr).toContain(
      `${refused} http://localhost:4010 for operator-cli`
    )
    expect(sent).toEqual([])
    // The stack's issuer says nothing about services elsewhere.
    expect((await run(['grant', 'list'], environment, stackFile)).status).toBe(0)
    expect(sent).toEqual([[idToken]])
  })
})

describe('signing in', () => {
  it.each<[string, string[], Record<string, string>, string]>([
    ['nowhere', [], {}, 'nothing says where operators sign in'],
    ['without a client', ['--issuer', 'https://login.test'], {}, 'give --client-id (OPERATOR_CLIENT_ID) too'],
    ['without an issuer', [], { OPERATOR_CLIENT_ID: 'cli' }, 'give --issuer (OPERATOR_ISSUER) too'],
    [
      'in plain text',
      ['--issuer', 'http://login.test', '--client-id', 'cli'],
      {},
      'must be an https URL; http only on this machine'
    ],
    [
      'at nobody',
      ['--issuer', 'http://127.0.0.1:1', '--client-id', 'cli'],
      {},
      'the issuer http://127.0.0.1:1 cannot be asked'
    ]
  ])('%s is refused', async (_where, flags, settings, problem) => {
    const { status, stderr } = await run(['sign-in', ...flags], { HOME: folder, ...settings })
    expect([status, stderr]).toEqual([1, expect.stringContaining(problem)])
  })

  it('is refused where nothing can be kept', async () => {
    expect((await run(['sign-in'])).stderr).toContain('there is no folder to keep a sign-in in')
    expect((await run(['sign-out'])).stderr).toContain('there is no folder to keep a sign-in in')
  })
})
