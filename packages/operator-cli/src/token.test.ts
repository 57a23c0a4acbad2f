import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createHandlers, type RunningGrpcServer, startGrpcServer } from '@open-payments-server/grpc-transport'
import { auth, fileDescriptors } from '@open-payments-server/proto'
import { createLogger } from '@open-payments-server/runtime'
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

async function run(words: readonly string[], environment: Record<string, string> = {}) {
  let stderr = ''
  const status = await runCli(words, {
    environment: { AUTH_GRPC_TARGET: server.address, WALLET_GRPC_TARGET: server.address, ...environment },
    name: 'operator',
    stackFile: '/nowhere/stack.json',
    awaitInterruption: () => new AbortController().signal,
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
