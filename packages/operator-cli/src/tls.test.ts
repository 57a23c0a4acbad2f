import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { tlsFilesOf, type WatchedTlsFiles, watchTlsFiles } from '@open-payments-server/grpc-transport'
import { createLogger } from '@open-payments-server/runtime'
import {
  createTestAuthority,
  type TestAuthority,
  type TestTlsFolder,
  writeTlsFiles
} from '@open-payments-server/testing/certificates'
import { type FakeServices, startFakeServices } from '../test/fake-services.js'
import { runCli } from './run-cli.js'

const OPERATOR = 'spiffe://wallet.test/operator'
const SERVER_NAME = 'wallet-grpc.test'

let authority: TestAuthority
let folders: TestTlsFolder[]
let watched: WatchedTlsFiles
let services: FakeServices

async function filesOf(names: { uris?: string[]; dnsNames?: string[] }): Promise<TestTlsFolder['files']> {
  const folder = await writeTlsFiles(await authority.issue(names), authority.certificate)
  folders.push(folder)
  return folder.files
}

beforeAll(async () => {
  authority = await createTestAuthority()
  folders = []
  const settings = { certificate: 'certificate', key: 'key', authority: 'authority' } as const
  const files = tlsFilesOf(settings, { ...(await filesOf({ dnsNames: [SERVER_NAME] })) })
  if (files === undefined) throw new Error('every file is named')
  watched = await watchTlsFiles(files, { logger: createLogger({ service: 'fake', level: 'silent' }) })
  services = await startFakeServices({ tls: watched, clientNames: [OPERATOR] })
})
afterAll(async () => {
  await services.stop()
  await watched.stop()
  for (const folder of folders) await folder.remove()
})

async function run(
  words: readonly string[],
  environment: Record<string, string> = {}
): Promise<{ status: number; stdout: string; stderr: string }> {
  let [stdout, stderr] = ['', '']
  const status = await runCli(words, {
    environment: { AUTH_GRPC_TARGET: services.target, WALLET_GRPC_TARGET: services.target, ...environment },
    name: 'operator',
    stackFile: '/nowhere/stack.json',
    awaitInterruption: () => new AbortController().signal,
    openPage: () => undefined,
    stdout: (text) => (stdout += text),
    stderr: (text) => (stderr += text),
    colors: false
  })
  return { status, stdout, stderr }
}

const flagsOf = ({ authority: ca, certificate, key }: TestTlsFolder['files']): string[] => [
  ...['--tls-ca', ca, '--tls-certificate', certificate, '--tls-key', key],
  ...['--auth-name', SERVER_NAME, '--wallet-name', SERVER_NAME]
]

describe('an operator with a certificate', () => {
  it('operates both services, named by flags or by the environment', async () => {
    const files = await filesOf({ uris: [OPERATOR] })
    expect(await run([...flagsOf(files), 'asset', 'create', 'USD', '2'])).toMatchObject({
      status: 0,
      stderr: ''
    })
    const environment = {
      OPERATOR_TLS_CA_FILE: files.authority,
      OPERATOR_TLS_CERTIFICATE_FILE: files.certificate,
      OPERATOR_TLS_KEY_FILE: files.key,
      AUTH_GRPC_TLS_SERVER_NAME: SERVER_NAME,
      WALLET_GRPC_TLS_SERVER_NAME: SERVER_NAME
    }
    expect(await run(['grant', 'list', '--json'], environment)).toMatchObject({ status: 0, stderr: '' })
  })

  it('is told when its certificate or the service is wrong', async () => {
    const shop = await filesOf({ uris: ['spiffe://wallet.test/shop'] })
    const refused = await run([...flagsOf(shop), 'account', 'list'])
    expect(refused).toMatchObject({ status: 1, stdout: '' })
    expect(refused.stderr).toBe("error: The client's certificate does not allow this call\n")
    const flags = flagsOf(await filesOf({ uris: [OPERATOR] })).map((flag) =>
      flag === SERVER_NAME ? 'other.test' : flag
    )
    expect((await run([...flags, 'account', 'list'])).stderr).toContain('does it take these certificates?')
  })

  it('is told which TLS option is missing', async () => {
    const files = await filesOf({ uris: [OPERATOR] })
    expect((await run(['--tls-ca', files.authority, 'account', 'list'])).stderr).toMatch(
      /given by halves: give --tls-certificate \(OPERATOR_TLS_CERTIFICATE_FILE\) and --tls-key \(OPERATOR_TLS_KEY_FILE\) too/
    )
    expect((await run([...flagsOf(files).slice(0, 6), 'account', 'list'])).stderr).toMatch(
      /is an address: say which name its certificate bears, with --auth-name/
    )
    await rm(files.key)
    expect((await run([...flagsOf(files), 'account', 'list'])).stderr).toMatch(
      /^error: --tls-key \(OPERATOR_TLS_KEY_FILE\): \S+ cannot be read: ENOENT/
    )
  })
})

it('an operator without a certificate connects to loopback only', async () => {
  const { status, stderr } = await run(['account', 'list'], { WALLET_GRPC_TARGET: 'wallet.example:3002' })
  expect(status).toBe(1)
  expect(stderr).toMatch(
    /^error: wallet\.example:3002 is not on this machine, and plain text does not leave it: give --tls-ca/
  )
})
