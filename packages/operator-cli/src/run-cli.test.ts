import { spawn } from 'node:child_process'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { auth, wallet } from '@open-payments-server/proto'
import { type FakeServices, PEER_IS_OWED, PEER_OWED_FIRST, startFakeServices } from '../test/fake-services.js'
import { runCli } from './run-cli.js'
import { writerTo } from './output.js'

const SHOP = 'http://localhost:4001/shop'
const GRANT_ID = '01936000-0000-7000-8000-000000000001'
const DEPOSIT_ID = '01936000-0000-7000-8000-000000000002'

let services: FakeServices
let directory: string

beforeEach(async () => {
  services = await startFakeServices()
  directory = await mkdtemp(join(tmpdir(), 'operator-cli-'))
})
afterEach(async () => {
  await services.stop()
  await rm(directory, { recursive: true })
})

interface Result {
  status: number
  stdout: string
  stderr: string
}

async function run(
  words: readonly string[],
  environment: Record<string, string> = {
    AUTH_GRPC_TARGET: services.target,
    WALLET_GRPC_TARGET: services.target
  }
): Promise<Result> {
  const result = { status: 0, stdout: '', stderr: '' }
  result.status = await runCli(words, {
    environment,
    name: 'operator',
    stackFile: join(directory, 'stack.json'),
    awaitInterruption: () => new AbortController().signal,
    openPage: () => undefined,
    stdout: (text) => {
      result.stdout += text
    },
    stderr: (text) => {
      result.stderr += text
    },
    colors: false
  })
  return result
}

/** Runs a command that must succeed, and reads its JSON. */
async function json(...words: string[]): Promise<unknown> {
  const { status, stdout, stderr } = await run([...words, '--json'])
  expect(stderr).toBe('')
  expect(status).toBe(0)
  return JSON.parse(stdout)
}

async function createAlice(): Promise<void> {
  await json('asset', 'create', 'USD', '2')
  await json('account', 'create', 'alice', '--asset', 'USD')
}

describe('a balance above 2^64 − 1', () => {
  it('is shown in full by every command', async () => {
    await json('asset', 'create', 'ETH', '18')
    await json('account', 'create', 'vault', '--asset', 'ETH')
    await json('deposit', 'vault', '10')
    const { status, stdout, stderr } = await run(['deposit', 'vault', '10'])
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toContain('vault now has 20.000000000000000000 ETH')
    const value = '20000000000000000000'
    expect(await json('account', 'list')).toMatchObject([{ balance: { value }, available: { value } }])
    expect((await run(['account', 'show', 'vault'])).stdout).toContain('20.000000000000000000 ETH')
  })

  it('does not allow larger single amounts', async () => {
    await json('asset', 'create', 'ETH', '18')
    await json('account', 'create', 'vault', '--asset', 'ETH')
    const { status, stderr } = await run(['deposit', 'vault', '20'])
    expect(status).toBe(1)
    expect(stderr).toContain('18446744073709551615')
    expect(services.movementIds).toEqual([])
  })
})

describe('help', () => {
  const levels = [
    [],
    ['asset'],
    ['asset', 'create'],
    ['asset', 'list'],
    ['account'],
    ['account', 'create'],
    ['account', 'list'],
    ['account', 'show'],
    ['account', 'set-holder'],
    ['account', 'clear-holder'],
    ['wallet-address'],
    ['wallet-address', 'create'],
    ['wallet-address', 'list'],
    ['deposit'],
    ['withdraw'],
    ['client-key'],
    ['client-key', 'add'],
    ['client-key', 'revoke'],
    ['payment'],
    ['payment', 'list'],
    ['grant'],
    ['grant', 'list'],
    ['grant', 'revoke'],
    ['lost-payment'],
    ['lost-payment', 'list'],
    ['lost-payment', 'give-up'],
    ['reservation'],
    ['reservation', 'restore'],
    ['peer'],
    ['peer', 'create'],
    ['peer', 'list'],
    ['peer', 'show'],
    ['peer', 'update'],
    ['peer', 'rotate-token'],
    ['peer', 'settle'],
    ['peer', 'unknown-packets'],
    ['peer', 'decide-packet'],
    ['peer', 'statement'],
    ['peer', 'reconcile'],
    ['freeze'],
    ['unfreeze'],
    ['status'],
    ['audit']
  ]
  it.each(levels.map((level) => [level.join(' ') || '(top)', level]))(
    'is given for %s',
    async (_name, level) => {
      const { status, stdout, stderr } = await run([...level, '--help'])
      expect(status).toBe(0)
      expect(stderr).toBe('')
      expect(stdout).toContain('Usage: operator ')
      expect(stdout).toContain('--json')
      expect(stdout).toContain('--auth <target>')
    }
  )

  it('is shown with the error for a wrong command', async () => {
    const { status, stdout, stderr } = await run(['asset', 'create', 'USD', '300'])
    expect(status).toBe(1)
    expect(stdout).toBe('')
    expect(stderr).toContain('Expected a whole number from 0 to 255.')
    expect(stderr).toContain('--help')
  })
})

describe('where the services are', () => {
  it('is taken from the flags, at any place of the line', async () => {
    const flags = ['--auth', services.target, '--wallet', services.target]
    expect((await run([...flags, 'asset', 'list'], {})).stdout).toBe('No assets.\n')
    expect((await run(['asset', 'list', ...flags], {})).stdout).toBe('No assets.\n')
  })

  it('is taken from the running stack by default', async () => {
    await writeFile(
      join(directory, 'stack.json'),
      JSON.stringify({ authGrpc: services.target, resourceGrpc: services.target })
    )
    expect((await run(['asset', 'list'], {})).status).toBe(0)
  })

  it('is requested when it is nowhere given', async () => {
    const { status, stderr } = await run(['asset', 'list'], {})
    expect(status).toBe(1)
    expect(stderr).toContain('npm start')
    expect(stderr).toContain('--auth')
  })

  it('is named when nothing answers there', async () => {
    const target = services.target
    await services.stop()
    const { status, stderr } = await run(['asset', 'list', '--auth', target, '--wallet', target], {})
    expect(status).toBe(1)
    expect(stderr).toContain(`the resource server at ${target} cannot be reached`)
    const grants = await run(['grant', 'list', '--auth', target, '--wallet', target], {})
    expect(grants.stderr).toContain(`the auth server at ${target} cannot be reached`)
  })
})

describe('accounts and money', () => {
  it('counts amounts exactly, in units of the account', async () => {
    await createAlice()
    await json('deposit', 'alice', '184467440737095516.15')
    expect(await json('account', 'show', 'alice')).toMatchObject({
      name: 'alice',
      asset: { code: 'USD', scale: 2 },
      balance: { value: '18446744073709551615', assetCode: 'USD', assetScale: 2 }
    })
    await json('withdraw', 'alice', '0.01')
    const { stdout } = await run(['account', 'list'])
    expect(stdout).toContain('184467440737095516.14 USD')
  })

  it.each([
    ['more decimals than the asset has', '1.001'],
    ['zero', '0.00'],
    ['a sign', '+1'],
    ['words', 'ten'],
    ['an exponent', '1e3'],
    ['more than there can be', '184467440737095516.16']
  ])('refuses an amount with %s, and moves nothing', async (_what, amount) => {
    await createAlice()
    const { status, stderr } = await run(['deposit', 'alice', amount, '--json'])
    expect(status).toBe(1)
    expect(JSON.parse(stderr)).toMatchObject({ error: { field: 'amount' } })
    expect(services.movementIds).toEqual([])
  })

  it('says why the service refused, with the field', async () => {
    await createAlice()
    const { status, stdout, stderr } = await run(['withdraw', 'alice', '5'])
    expect(status).toBe(1)
    expect(stdout).toBe('')
    expect(stderr).toBe('error: the balance is short\n')
    const asJson = await run(['withdraw', 'alice', '5', '--json'])
    expect(JSON.parse(asJson.stderr)).toEqual({
      error: { code: 'FAILED_PRECONDITION', message: 'the balance is short', field: 'value' }
    })
  })

  it('applies an id once', async () => {
    await createAlice()
    await json('deposit', 'alice', '10', '--id', DEPOSIT_ID)
    await json('deposit', 'alice', '10', '--id', DEPOSIT_ID)
    expect(services.accounts.get('alice')?.balance).toBe(1000n)
  })

  it('says how to retry after a lost answer, with the same id', async () => {
    await createAlice()
    services.lostAnswers = 10
    const { status, stderr } = await run(['deposit', 'alice', '10'])
    expect(status).toBe(1)
    expect(new Set(services.movementIds).size).toBe(1)
    expect(stderr).toContain(`--id ${String(services.movementIds[0])}`)
    expect(services.accounts.get('alice')?.balance).toBe(1000n)
  })

  it('names an account that does not exist', async () => {
    for (const words of [
      ['account', 'show', 'nobody'],
      ['deposit', 'nobody', '1']
    ]) {
      const { status, stderr } = await run(words)
      expect(status).toBe(1)
      expect(stderr).toContain('there is no account nobody')
    }
  })

  it('asks which asset is meant when several share a code', async () => {
    await json('asset', 'create', 'USD', '2')
    await json('asset', 'create', 'USD', '9')
    expect((await run(['account', 'create', 'a', '--asset', 'USD'])).stderr).toContain('USD/2')
    expect(await json('account', 'create', 'a', '--asset', 'USD/9')).toMatchObject({ asset: { scale: 9 } })
    expect((await run(['account', 'create', 'b', '--asset', 'EUR'])).stderr).toContain(
      'there is no asset EUR'
    )
  })
})

describe('lists', () => {
  it('reads all pages up to the limit, and says when there is more', async () => {
    await json('asset', 'create', 'USD', '2')
    for (const name of ['a', 'b', 'c', 'd', 'e']) await json('account', 'create', name, '--asset', 'USD')
    expect(await json('account', 'list')).toHaveLength(5)
    const cut = await run(['account', 'list', '--limit', '3', '--json'])
    expect(JSON.parse(cut.stdout)).toHaveLength(3)
    expect(cut.stderr).toContain('--limit')
  })

  it('removes terminal control characters', async () => {
    await createAlice()
    await json(
      'wallet-address',
      'create',
      '/alice',
      '--account',
      'alice',
      '--public-name',
      'A\u001b[2J\u202eB'
    )
    const { stdout } = await run(['wallet-address', 'list'])
    expect(stdout).toContain('A\\u001b[2J\\u202eB')
    expect(stdout).not.toContain('\u001b')
  })

  it('keeps them in JSON, as escapes', async () => {
    await createAlice()
    const publicName = 'A\u001b[2J\u009b31m\u007f\u061c\u202eB "q" \\u202e ü'
    await json('wallet-address', 'create', '/alice', '--account', 'alice', '--public-name', publicName)
    const { stdout } = await run(['wallet-address', 'list', '--json'])
    expect(stdout).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u)
    expect(JSON.parse(stdout)).toMatchObject([{ publicName }])
  })

  it('removes them from errors, and keeps them in JSON of errors, as escapes', async () => {
    const name = 'a\u001b[2J\u009b\u202eb'
    const { stderr } = await run(['account', 'show', name])
    expect(stderr).toContain('a\\u001b[2J\\u009b\\u202eb')
    expect(stderr).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u)
    const asJson = (await run(['account', 'show', name, '--json'])).stderr
    expect(asJson).not.toMatch(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u)
    expect((JSON.parse(asJson) as { error: { message: string } }).error.message).toContain(name)
  })

  it('shows payments of the requested kind', async () => {
    const asset = { code: 'USD', scale: 2 }
    const payment = {
      paymentId: GRANT_ID,
      walletAddress: SHOP,
      failureReason: '',
      failureMeaning: '',
      movedValue: '995',
      asset,
      receiver: '',
      refundedValue: '5',
      refundedAsset: asset,
      refundOf: `${SHOP}/outgoing-payments/1`,
      client: SHOP,
      createTime: new Date(0),
      updateTime: new Date(0)
    }
    const { PAYMENT_KIND_INCOMING, PAYMENT_KIND_OUTGOING } = wallet.PaymentKind
    services.payments.push(
      { ...payment, kind: PAYMENT_KIND_INCOMING, state: 'pending', value: '' },
      {
        ...payment,
        kind: PAYMENT_KIND_OUTGOING,
        state: 'failed',
        value: '1000',
        failureReason: 'receiver_expired',
        failureMeaning: 'The incoming payment expired first.'
      }
    )
    expect(await json('payment', 'list', '--incoming')).toMatchObject([
      {
        state: 'pending',
        incomingAmount: null,
        receivedAmount: { value: '995' },
        refundedAmount: { value: '5' },
        refundOf: `${SHOP}/outgoing-payments/1`
      }
    ])
    expect(await json('payment', 'list', '--outgoing')).toMatchObject([
      { failureReason: 'receiver_expired', failureMeaning: 'The incoming payment expired first.' }
    ])
    const { stdout } = await run(['payment', 'list', '--outgoing'])
    expect(stdout).toContain('failed: receiver_expired')
    expect(stdout).toContain('The incoming payment expired first.')
    expect((await run(['payment', 'list'])).stderr).toContain('--incoming or --outgoing')
    expect((await run(['payment', 'list', '--incoming', '--outgoing'])).status).toBe(1)
  })
})

describe('a refund', () => {
  const payment = 'http://localhost:4001/outgoing-payments/0190a8b1-0000-7000-8000-000000000001'

  it('is made once for a key, and listed', async () => {
    const create = () => json('refund', 'create', payment, '--value', '250', '--key', 'k1')
    expect(await create()).toEqual({ id: 'k1', refundOf: payment, value: '250' })
    expect(await create()).toEqual({ id: 'k1', refundOf: payment, value: '250' })
    expect(services.refunds).toHaveLength(1)
    const { stdout } = await run(['refund', 'create', payment, '--value', '100', '--return-fee'])
    expect(stdout).toMatch(
      /^Took 1\.00 USD from the receiver and gave 1\.00 USD, and 0\.01 USD of the fee, to the payer/
    )
    expect(await json('refund', 'list', payment)).toMatchObject([
      {
        id: 'k1',
        state: 'completed',
        value: '250',
        returnedAmount: { value: '250', assetCode: 'USD' },
        createdBy: null
      },
      { value: '100', returnedFeeAmount: { value: '1' }, createdBy: 'spiffe://example/desk' }
    ])
    expect((await run(['refund', 'list'])).stdout).toMatch(/2\.50 USD[^]*spiffe:\/\/example\/desk/)
  })

  it('says how to retry after a lost answer, with the same key', async () => {
    services.lostAnswers = 10
    const { status, stderr } = await run(['refund', 'create', payment, '--value', '250'])
    expect(status).toBe(1)
    expect(stderr).toContain(`--key ${String(services.refunds[0]?.refundId)}`)
    expect(services.refunds).toHaveLength(1)
  })

  it('is refused with the code and the field', async () => {
    const { status, stderr } = await run(['refund', 'create', payment, '--value', '0', '--json'])
    expect(status).toBe(1)
    expect(JSON.parse(stderr)).toEqual({
      error: { code: 'INVALID_ARGUMENT', message: 'the amount must be above 0', field: 'value' }
    })
    for (const words of [
      ['refund', 'create', payment],
      ['refund', 'create', 'payment', '--value', '1'],
      ['refund', 'create', payment, '--value', '1', '--key', '']
    ]) {
      expect((await run(words)).status).toBe(1)
    }
    expect(services.refunds).toEqual([])
  })
})

describe('a reader that goes away, such as `head`', () => {
  it('changes nothing of what a command does, and causes no error', async () => {
    await createAlice()
    const reader = spawn('sh', ['-c', 'exec <&-; echo gone; exec sleep 60'])
    await once(reader.stdout, 'data')
    const failed = new Promise((resolve) => reader.stdin.on('close', resolve))
    const status = await runCli(['deposit', 'alice', '10'], {
      environment: { AUTH_GRPC_TARGET: services.target, WALLET_GRPC_TARGET: services.target },
      name: 'operator',
      stackFile: join(directory, 'stack.json'),
      awaitInterruption: () => new AbortController().signal,
      openPage: () => undefined,
      stdout: writerTo(reader.stdin),
      stderr: writerTo(reader.stdin),
      colors: false
    })
    await failed
    reader.kill()
    expect(reader.stdin.errored).toMatchObject({ code: 'EPIPE' })
    expect(status).toBe(0)
    expect(services.movementIds).toHaveLength(1)
  })
})

describe('client keys', () => {
  const pair = generateKeyPairSync('ed25519')
  const jwk = pair.publicKey.export({ format: 'jwk' })
  const x = jwk.x ?? ''

  it.each([
    ['PEM', pair.publicKey.export({ type: 'spki', format: 'pem' })],
    ['PEM of the private key', pair.privateKey.export({ type: 'pkcs8', format: 'pem' })],
    [
      'PEM among other text',
      `Bag Attributes\n${String(pair.privateKey.export({ type: 'pkcs8', format: 'pem' }))}ED25519 Private-Key:\n`
    ],
    ['a JWK', JSON.stringify({ ...jwk, kid: 'other', alg: 'EdDSA', use: 'sig' })],
    [
      'the JWK of the private key',
      JSON.stringify({ ...pair.privateKey.export({ format: 'jwk' }), ext: false })
    ]
  ])('are read from a file with %s', async (_what, content) => {
    const file = join(directory, 'key')
    await writeFile(file, content)
    await json('client-key', 'add', SHOP, '--kid', 'k1', '--public-key', file)
    expect(services.keys.get(`${SHOP}#k1`)).toBe(x)
  })

  it('are taken as base64url, and removed again', async () => {
    await json('client-key', 'add', SHOP, '--kid', 'k1', '--public-key', x)
    expect(services.keys.size).toBe(1)
    await json('client-key', 'revoke', SHOP, 'k1')
    expect(services.keys.size).toBe(0)
    expect((await run(['client-key', 'revoke', SHOP, 'k1'])).stderr).toBe('error: no such key\n')
  })

  it('are generated into a new file that its owner alone can read, never over another', async () => {
    const file = join(directory, 'new.pem')
    const added = (await json('client-key', 'add', SHOP, '--generate', file)) as { kid: string; x: string }
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    const pem = await readFile(file, 'utf8')
    expect(pem).toMatch(/^-----BEGIN PRIVATE KEY-----/)
    expect(createPublicKey(pem).export({ format: 'jwk' }).x).toBe(added.x)
    expect(services.keys.get(`${SHOP}#${added.kid}`)).toBe(added.x)
    expect((await run(['client-key', 'add', SHOP, '--generate', file])).status).toBe(1)
    expect(await readFile(file, 'utf8')).toBe(pem)
  })

  it.each([
    [
      'another algorithm',
      generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'pem' })
    ],
    ['another curve', JSON.stringify(generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' }))],
    ['a symmetric key', JSON.stringify({ kty: 'oct', k: x })],
    ['a key for another use', JSON.stringify({ ...jwk, key_ops: ['encrypt'] })],
    ['a key that is too short', JSON.stringify({ ...jwk, x: x.slice(1) })],
    ['no key', 'hello'],
    ['broken JSON', '{']
  ])('are refused from a file with %s', async (_what, content) => {
    const file = join(directory, 'key')
    await writeFile(file, content)
    const { status, stderr } = await run(['client-key', 'add', SHOP, '--public-key', file, '--json'])
    expect(status).toBe(1)
    expect(JSON.parse(stderr)).toMatchObject({ error: { field: 'public-key' } })
    expect(services.keys.size).toBe(0)
  })

  it('must be given in exactly one way', async () => {
    expect((await run(['client-key', 'add', SHOP])).stderr).toContain('--public-key or --generate')
    expect((await run(['client-key', 'add', 'shop', '--public-key', x])).stderr).toContain(
      'http or https URL'
    )
  })
})

describe('grants', () => {
  beforeEach(() => {
    services.grants.push({
      grantId: GRANT_ID,
      state: auth.GrantState.GRANT_STATE_ISSUED,
      client: { walletAddress: SHOP, jwkThumbprint: '' },
      access: [
        {
          type: 'outgoing-payment',
          actions: ['create', 'read'],
          identifier: 'http://localhost:4001/alice',
          limits: {
            receiver: '',
            interval: 'R12/2026-01-01T00:00:00Z/P1M',
            debitAmount: { value: '2500', assetCode: 'USD', assetScale: 2 },
            receiveAmount: undefined
          }
        }
      ],
      createTime: new Date(0),
      updateTime: new Date(0)
    })
  })

  it('are listed with what they allow', async () => {
    const { stdout } = await run(['grant', 'list'])
    expect(stdout).toContain('debits at most 25.00 USD')
    expect(stdout).toContain('in each of R12/2026-01-01T00:00:00Z/P1M')
    expect(await json('grant', 'list', '--state', 'issued')).toMatchObject([
      { id: GRANT_ID, client: SHOP, access: [{ limits: { debitAmount: { value: '2500' } } }] }
    ])
    expect(await json('grant', 'list', '--state', 'pending')).toEqual([])
  })

  it('are revoked', async () => {
    expect(await json('grant', 'revoke', GRANT_ID)).toMatchObject({ state: 'revoked' })
    expect(services.grants[0]?.state).toBe(auth.GrantState.GRANT_STATE_REVOKED)
    expect((await run(['grant', 'revoke', 'x'])).stderr).toContain('Expected a UUID')
  })
})

describe('holders', () => {
  const holder = { issuer: 'https://login.example', sub: 'alice-7f3a' }
  const words = ['--issuer', holder.issuer, '--sub', holder.sub]

  it('of accounts are set, shown and cleared', async () => {
    await createAlice()
    expect(await json('account', 'show', 'alice')).toMatchObject({ holder: null })
    expect(await json('account', 'set-holder', 'alice', ...words)).toMatchObject({ name: 'alice', holder })
    expect(await json('account', 'list')).toMatchObject([{ name: 'alice', holder }])
    expect((await run(['account', 'set-holder', 'alice', ...words])).stdout).toBe(
      'alice-7f3a at https://login.example holds the account alice.\n'
    )
    expect((await run(['account', 'show', 'alice'])).stdout).toMatch(
      /Holder +alice-7f3a at https:\/\/login\.example/
    )
    expect(await json('account', 'clear-holder', 'alice')).toMatchObject({ name: 'alice', holder: null })
    expect((await run(['account', 'clear-holder', 'alice'])).stdout).toBe(
      'Nobody is known to hold the account alice.\n'
    )
  })

  it('are named whole, and of accounts that exist', async () => {
    await createAlice()
    for (const wrong of [
      ['--issuer', holder.issuer],
      ['--sub', holder.sub],
      ['--issuer', 'login', '--sub', 'a']
    ]) {
      const { status, stderr } = await run(['account', 'set-holder', 'alice', ...wrong])
      expect([status, services.holders.size]).toEqual([1, 0])
      expect(stderr).toMatch(/--issuer|--sub/)
    }
    const { status, stderr } = await run(['account', 'set-holder', 'nobody', ...words])
    expect([status, stderr]).toEqual([1, expect.stringContaining('no such account')])
  })
})

describe('freezes', () => {
  const SINCE = '2026-11-21T10:00:00.000Z'

  it('of accounts and wallet addresses are ordered, shown in the lists, and ended', async () => {
    await createAlice()
    const { url } = (await json('wallet-address', 'create', '/alice', '--account', 'alice')) as {
      url: string
    }
    expect(await json('account', 'show', 'alice')).toMatchObject({ frozen: false, freeze: null })
    const freeze = { since: SINCE, by: 'operator', reason: 'court order' }
    expect(await json('freeze', 'account', 'alice', '--reason', 'court order')).toEqual({
      kind: 'account',
      name: 'alice',
      frozen: true,
      freeze
    })
    expect(await json('account', 'list')).toMatchObject([{ name: 'alice', frozen: true, freeze }])
    expect((await run(['account', 'list'])).stdout).toContain(`since ${SINCE}`)
    expect((await run(['freeze', 'wallet-address', url])).stdout).toBe(
      `The wallet address ${url} is frozen.\n`
    )
    expect(await json('wallet-address', 'list')).toMatchObject([{ url, frozen: true }])
    expect(await json('unfreeze', 'wallet-address', url)).toMatchObject({ name: url, frozen: false })
    expect((await run(['unfreeze', 'account', 'alice'])).stdout).toBe('The account alice is not frozen.\n')
  })

  it('of clients go to the auth server', async () => {
    services.grants.push(auth.Grant.fromPartial({ grantId: GRANT_ID, client: { walletAddress: SHOP } }))
    expect(await json('freeze', 'client', SHOP)).toEqual({
      kind: 'client',
      name: SHOP,
      frozen: true,
      freeze: { since: SINCE, by: '', reason: '' }
    })
    expect(await json('unfreeze', 'client', SHOP)).toMatchObject({ frozen: false, freeze: null })
  })

  it.each(['account', 'wallet-address', 'client'])('of an unknown %s are refused', async (kind) => {
    for (const verb of ['freeze', 'unfreeze']) {
      if (verb === 'unfreeze' && kind === 'client') continue // the fake knows no client when its freeze ends
      const { status, stderr } = await run([verb, kind, 'http://nobody.example', '--json'])
      expect(status).toBe(1)
      expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'NOT_FOUND' } })
    }
  })

  it('of anything else are refused', async () => {
    const { status, stderr } = await run(['freeze', 'grant', GRANT_ID])
    expect(status).toBe(1)
    expect(stderr).toContain('account, wallet-address, client')
  })
})

describe('approvals', () => {
  const URL = 'http://localhost:4001/outgoing-payments/01936000-0000-7000-8000-000000000003'

  beforeEach(() => {
    const asset = { code: 'USD', scale: 2 }
    services.outgoingPayment = {
      payment: {
        paymentId: URL.slice(-36),
        kind: wallet.PaymentKind.PAYMENT_KIND_OUTGOING,
        walletAddress: 'http://localhost:4001/alice',
        state: 'awaiting_approval',
        failureReason: '',
        failureMeaning: '',
        value: '1000',
        movedValue: '0',
        asset,
        receiver: 'http://localhost:4001/incoming-payments/x',
        refundedValue: '0',
        refundedAsset: asset,
        refundOf: '',
        client: SHOP,
        createTime: new Date(0),
        updateTime: new Date(0)
      },
      url: URL,
      client: SHOP,
      receiveValue: '995',
      receiveAsset: asset,
      approval: {
        ruleId: 'rule-0',
        requestTime: new Date(0),
        expireTime: new Date(1),
        decision: '',
        decisionMeaning: '',
        decideTime: undefined,
        decidedBy: '',
        reason: ''
      }
    }
  })

  it('are shown with their payments, and given with a reason', async () => {
    expect(await json('payment', 'show', URL)).toMatchObject({
      id: URL.slice(-36),
      url: URL,
      state: 'awaiting_approval',
      failureReason: null,
      debitAmount: { value: '1000' },
      receiveAmount: { value: '995' },
      sentAmount: { value: '0' },
      approval: { ruleId: 'rule-0', decision: null, expiresAt: '1970-01-01T00:00:00.001Z', decidedBy: null }
    })
    expect((await run(['payment', 'show', URL])).stdout).toContain('awaited until 1970-01-01T00:00:00.001Z')
    expect(await json('payment', 'approve', URL, '--reason', 'known customer')).toMatchObject({
      approval: { decision: 'approved', reason: 'known customer', decidedBy: 'spiffe://example/risk' }
    })
    expect((await run(['payment', 'decline', URL, '--reason', 'fraud'])).stdout).toContain(
      'declined at 2026-11-21T10:00:00.000Z by spiffe://example/risk. So it was. Reason: fraud'
    )
  })

  it('are refused in JSON', async () => {
    const refused = async (...words: string[]): Promise<unknown> => {
      const { status, stdout, stderr } = await run([...words, '--json'])
      expect([status, stdout]).toEqual([1, ''])
      return JSON.parse(stderr)
    }
    for (const command of ['show', 'approve', 'decline'])
      expect(await refused('payment', command, 'nothing')).toMatchObject({ error: { code: 'NOT_FOUND' } })
    if (services.outgoingPayment !== undefined) services.outgoingPayment.approval = undefined
    expect(await refused('payment', 'approve', URL)).toMatchObject({
      error: { code: 'FAILED_PRECONDITION', message: 'the payment met no rule' }
    })
    expect((await run(['payment', 'show', URL])).stdout).toContain('not asked for')
    expect(await refused('approval-rule', 'create', '--above', '-1')).toMatchObject({
      error: { code: 'INVALID_ARGUMENT', message: '--above must be an amount' }
    })
    expect(await refused('approval-rule', 'delete', 'x')).toMatchObject({ error: { code: 'NOT_FOUND' } })
  })

  it('are asked for by rules, which are listed', async () => {
    const alice = 'http://localhost:4001/alice'
    expect(await json('approval-rule', 'create', '--wallet-address', alice, '--above', '100')).toMatchObject({
      id: 'rule-0',
      walletAddress: alice,
      above: '100',
      client: null,
      firstPayee: false
    })
    await json('approval-rule', 'create', '--first-payee', '--client', SHOP, '--method', 'local')
    expect(await json('approval-rule', 'list')).toMatchObject([{ id: 'rule-0' }, { id: 'rule-1' }])
    expect((await run(['approval-rule', 'list'])).stdout).toMatch(
      /rule-1 +│ by the client .*, to a payee for the first time, by the method local/
    )
    expect(await json('approval-rule', 'delete', 'rule-0')).toEqual({ id: 'rule-0' })
    await json('approval-rule', 'delete', 'rule-1')
    expect(await json('approval-rule', 'list')).toEqual([])
    expect((await run(['approval-rule', 'list'])).stdout).toBe('No approval rules.\n')
  })
})

describe('audit', () => {
  const sound = { invariant: 'debits equal credits', checkedCount: 12n, violations: [] }
  const broken = {
    invariant: 'no balance is negative',
    checkedCount: 3n,
    violations: ['account alice has -1']
  }

  it('names each invariant and ends with 0 when all hold', async () => {
    services.checks = [sound]
    const { status, stdout } = await run(['audit', '--open-reservation-age-max', '5'])
    expect(status).toBe(0)
    expect(stdout).toContain('✓ debits equal credits (12 checked)')
    expect(services.auditRequest).toEqual({ openReservationAgeMaxSeconds: 5 })
  })

  it('ends with 1 and names every violation when one is found', async () => {
    services.checks = [sound, broken]
    const { status, stdout, stderr } = await run(['audit'])
    expect(status).toBe(1)
    expect(stdout).toContain('✗ no balance is negative (3 checked)\n    account alice has -1')
    expect(stderr).toBe('')
    const asJson = await run(['audit', '--json'])
    expect(asJson.status).toBe(1)
    expect(JSON.parse(asJson.stdout)).toEqual({
      holds: false,
      checks: [
        { ...sound, checkedCount: '12' },
        { ...broken, checkedCount: '3' }
      ]
    })
  })

  it('ends with 2 when it cannot be run', async () => {
    expect((await run(['audit', '--open-reservation-age-max', 'long'])).status).toBe(2)
    expect((await run(['audit'], {})).status).toBe(2)
    expect((await run(['audit'])).status).toBe(2) // a service that checks nothing
    await services.stop()
    expect((await run(['audit'])).status).toBe(2)
  })
})

describe('lost payments', () => {
  const idOf = (index: number) => `01936000-0000-7000-8000-${String(index).padStart(12, '0')}`
  const lose = (count: number): string[] => {
    const ids = Array.from({ length: count }, (_, index) => idOf(index))
    services.lostPayments = ids.map((paymentId) => ({
      paymentId,
      grantId: GRANT_ID,
      client: SHOP,
      walletAddress: 'http://localhost:4001/alice',
      receiver: 'http://localhost:4001/incoming-payments/1',
      state: 'open',
      debitValue: '1050',
      debitAsset: { code: 'USD', scale: 2 },
      receiveValue: '900',
      receiveAsset: { code: 'EUR', scale: 2 },
      createTime: new Date('2026-11-21T10:00:00Z')
    }))
    return ids
  }

  it('are listed with grant and amounts', async () => {
    lose(3)
    expect(await json('lost-payment', 'list')).toEqual(
      [0, 1, 2].map((index) => ({
        id: idOf(index),
        grantId: GRANT_ID,
        client: SHOP,
        state: 'open',
        walletAddress: 'http://localhost:4001/alice',
        receiver: 'http://localhost:4001/incoming-payments/1',
        debitAmount: { value: '1050', assetCode: 'USD', assetScale: 2 },
        receiveAmount: { value: '900', assetCode: 'EUR', assetScale: 2 },
        createdAt: '2026-11-21T10:00:00.000Z'
      }))
    )
    expect((await run(['lost-payment', 'list', '--limit', '2'])).stderr).toContain('more lost payments')
    expect((await run(['lost-payment', 'list'])).stdout).toContain('10.50 USD')
  })

  it('are given up by their ids, or all that are listed', async () => {
    const ids = lose(203)
    expect(await json('lost-payment', 'give-up', idOf(1), idOf(0))).toEqual({ givenUp: [idOf(0), idOf(1)] })
    expect(await json('lost-payment', 'give-up', idOf(0))).toEqual({ givenUp: [] })
    expect(await json('lost-payment', 'give-up', '--all')).toEqual({ givenUp: ids.slice(2) })
    expect(services.givenUpTogether).toEqual([2, 1, 100, 100, 1])
    expect((await run(['lost-payment', 'give-up', '--all'])).stdout).toBe('Gave up 0 lost payments.\n')
  })

  it.each([
    ['nothing', []],
    ['ids and --all', [idOf(0), '--all']],
    ['what is no id', ['7']]
  ])('are not given up for %s', async (_what, words) => {
    lose(1)
    expect((await run(['lost-payment', 'give-up', ...words])).status).toBe(1)
    expect(services.lostPayments).toHaveLength(1)
  })
})

describe('reservations that the auth server lost', () => {
  it('are recorded anew', async () => {
    services.restored = { restoredCount: 55n, outcomeCount: 62n, refusedCount: 0n, refused: [] }
    expect(await run(['reservation', 'restore'])).toEqual({
      status: 0,
      stdout: 'Recorded 55 reservations. 62 outcomes are delivered again.\n',
      stderr: ''
    })
    expect(await json('reservation', 'restore')).toEqual({
      restored: '55',
      outcomes: '62',
      refused: '0',
      refusedPayments: []
    })
  })

  it('are named, with exit status 1, where they are not', async () => {
    const refused = Array.from({ length: 21 }, (_, index) => ({
      paymentId: `01936000-0000-7000-8000-${String(index).padStart(12, '0')}`,
      grantId: GRANT_ID,
      walletAddress: 'http://localhost:4001/alice',
      debitValue: '1050',
      debitAsset: { code: 'USD', scale: 2 },
      reason: 'The grant is unknown',
      grantUnknown: true
    }))
    services.restored = { restoredCount: 0n, outcomeCount: 0n, refusedCount: 1_021n, refused }
    const { status, stdout, stderr } = await run(['reservation', 'restore'])
    expect(status).toBe(1)
    expect(stderr).toBe('')
    expect(stdout).toContain('1021 payments are not counted under their grants:')
    expect(stdout).toContain(
      `  01936000-0000-7000-8000-000000000000 of grant ${GRANT_ID}, 10.50 USD from http://localhost:4001/alice: The grant is unknown`
    )
    expect(stdout.match(/The grant is unknown/g)).toHaveLength(20)
    expect(stdout).toContain('and 1001 more')
  })

  const idOf = (index: number) => `01936000-0000-7000-8000-${String(index).padStart(12, '0')}`
  const refuse = (count: number) => {
    const refused = Array.from({ length: count }, (_, index) => ({
      paymentId: idOf(index),
      grantId: GRANT_ID,
      walletAddress: 'http://localhost:4001/alice',
      debitValue: '1050',
      debitAsset: { code: 'USD', scale: 2 },
      reason: index === 0 ? 'The grant has no room left for the payment' : 'The grant is unknown',
      grantUnknown: index !== 0
    }))
    services.restored = { restoredCount: 0n, outcomeCount: 0n, refusedCount: BigInt(count), refused }
  }

  it('are accepted by their ids, or all whose grants are lost', async () => {
    refuse(203)
    const because = ['--reason', 'ticket 4711']
    expect(await json('reservation', 'accept', idOf(2), ...because)).toEqual({ accepted: [idOf(2)] })
    expect((await run(['reservation', 'accept', '--all', ...because])).stdout).toBe(
      'Accepted 201 payments.\n'
    )
    expect(services.acceptedBecause).toEqual(Array.from({ length: 4 }, () => 'ticket 4711'))
    expect(await json('reservation', 'accept', '--all', ...because)).toEqual({ accepted: [] })
    expect(services.restored.refused.map(({ paymentId }) => paymentId)).toEqual([idOf(0)])
  })

  it.each([
    ['nothing', ['--reason', 'a']],
    ['ids and --all', [idOf(1), '--all', '--reason', 'a']],
    ['what is no id', ['7', '--reason', 'a']],
    ['no reason', [idOf(1)]]
  ])('are not accepted for %s', async (_what, words) => {
    refuse(2)
    expect((await run(['reservation', 'accept', ...words])).status).toBe(1)
    expect(services.restored.refused).toHaveLength(2)
  })
})

describe('peers', () => {
  const OUTGOING = 'outgoing-token-0123456789'
  const INCOMING = 'incoming-token-0123456789'
  const BANK = [
    ...['--asset-code', 'USD', '--asset-scale', '2', '--ilp-address', 'g.bank-b'],
    ...['--endpoint', 'https://bank-b.example/ilp', '--limit', '100000']
  ]
  const TOKENS = ['--outgoing-token', OUTGOING, '--incoming-token', INCOMING]

  const createBank = (name = 'bankb') => json('peer', 'create', name, ...BANK, ...TOKENS)

  /** The error of a command that must fail, and print nothing else. */
  const refused = async (...words: string[]): Promise<unknown> => {
    const { status, stdout, stderr } = await run([...words, '--json'])
    expect([status, stdout]).toEqual([1, ''])
    return JSON.parse(stderr)
  }

  const write = async (name: string, content: string): Promise<string> => {
    const file = join(directory, name)
    await writeFile(file, content)
    return file
  }

  it('are created with their bounds, and shown', async () => {
    const bounds = [
      '--we-owe-limit',
      '0',
      '--packet-limit',
      '500',
      '--low-alert',
      '20000',
      '--high-alert',
      '30000'
    ]
    const created = await json(
      ...['peer', 'create', 'bankb', ...BANK, ...TOKENS, ...bounds],
      ...['--route', 'g.bank-c', 'g.bank-d', '--route', 'g.bank-e']
    )
    const usd = (value: string) => ({ value, assetCode: 'USD', assetScale: 2 })
    expect(created).toEqual({
      id: '01936000-0000-7000-8000-000000000004',
      name: 'bankb',
      asset: { code: 'USD', scale: 2 },
      ilpAddress: 'g.bank-b',
      routes: ['g.bank-c', 'g.bank-d', 'g.bank-e'],
      endpoint: 'https://bank-b.example/ilp',
      receivableLimit: usd('100000'),
      payableLimit: usd('0'),
      packetLimit: usd('500'),
      lowAlert: usd('20000'),
      highAlert: usd('30000'),
      receivable: usd('0'),
      payable: usd('0'),
      incomingTokens: [{ hashPrefix: '0123abcd', createdAt: '2026-11-21T10:00:00.000Z', expiresAt: null }],
      createdAt: '2026-11-21T10:00:00.000Z'
    })
    expect(await json('peer', 'show', 'bankb')).toEqual(created)
    const { stdout } = await run(['peer', 'show', 'bankb'])
    expect(stdout).toMatch(/Owes at most +1000\.00 USD/)
    expect(stdout).toMatch(/Routes +g\.bank-c, g\.bank-d, g\.bank-e/)
    expect(services.peerRequests.create).toMatchObject({ outgoingToken: OUTGOING, incomingToken: INCOMING })
  })

  it('are created without the bounds that are not given', async () => {
    expect(await createBank()).toMatchObject({ routes: [], payableLimit: null, packetLimit: null })
    expect(services.peerRequests.create).toMatchObject({ payableLimitValue: '', lowAlertValue: '' })
    expect((await run(['peer', 'create', 'bankc', ...BANK, ...TOKENS])).stdout).toBe(
      'Created the peer bankc at g.bank-b, which may owe 1000.00 USD.\n'
    )
  })

  it('are created with tokens from files', async () => {
    const outgoing = await write('outgoing', `${OUTGOING}\n`)
    const incoming = await write('incoming', INCOMING)
    await json(
      ...['peer', 'create', 'bankb', ...BANK],
      ...['--outgoing-token-file', outgoing, '--incoming-token-file', incoming]
    )
    expect(services.peerRequests.create).toMatchObject({ outgoingToken: OUTGOING, incomingToken: INCOMING })
  })

  it('are not created without exactly one token of each kind, or one that cannot be read', async () => {
    const create = (...tokens: string[]) => refused('peer', 'create', 'bankb', ...BANK, ...tokens)
    expect(await create('--incoming-token', INCOMING)).toEqual({
      error: {
        code: 'INVALID_COMMAND',
        message: 'give either --outgoing-token or --outgoing-token-file',
        field: 'outgoing-token'
      }
    })
    const file = await write('token', 'x'.repeat(5_000))
    expect(await create(...TOKENS, '--incoming-token-file', file)).toMatchObject({
      error: { field: 'incoming-token', message: expect.stringContaining('not both') }
    })
    expect(await create('--outgoing-token-file', file)).toMatchObject({
      error: { field: 'outgoing-token-file', message: `${file} is too large for a token` }
    })
    expect(await create('--outgoing-token-file', join(directory, 'none'))).toMatchObject({
      error: { field: 'outgoing-token-file', message: expect.stringContaining('cannot be read') }
    })
    expect(services.peers).toEqual([])
  })

  it.each([
    ['no limit', BANK.slice(0, -2)],
    ['a limit in other units', [...BANK.slice(0, -1), '10.00']],
    ['a limit that is none', [...BANK.slice(0, -1), 'none']],
    ['an endpoint that is no URL', [...BANK, '--endpoint', 'bank-b']]
  ])('are not created with %s', async (_what, options) => {
    expect((await run(['peer', 'create', 'bankb', ...options, ...TOKENS])).status).toBe(1)
    expect(services.peers).toEqual([])
  })

  it('are refused in the words of their options', async () => {
    expect(await refused('peer', 'create', 'BANK', ...BANK, ...TOKENS)).toEqual({
      error: {
        code: 'INVALID_ARGUMENT',
        message: 'the name of the peer must be 1 to 64 letters',
        field: 'name'
      }
    })
    for (const words of [
      ['show', 'nobody'],
      ['update', 'nobody', '--limit', '1'],
      ['rotate-token', 'nobody', '--incoming-token', INCOMING],
      ['settle', 'nobody', '--value', '1', '--reference', 'a', '--key', 'k'],
      ['statement', 'nobody', '--date', '2026-11-24']
    ])
      expect(await refused('peer', ...words)).toMatchObject({ error: { code: 'NOT_FOUND' } })
  })

  it('are listed, all pages of them', async () => {
    expect((await run(['peer', 'list'])).stdout).toBe('No peers.\n')
    for (const name of ['a', 'b', 'c']) await createBank(name)
    await json('peer', 'settle', 'a', '--value', '150', '--reference', 'x', '--key', 'k')
    expect(await json('peer', 'list')).toMatchObject([
      { name: 'a', receivable: { value: '-150' } },
      { name: 'b' },
      { name: 'c' }
    ])
    expect((await run(['peer', 'list'])).stdout).toContain('-1.50 USD')
    expect((await run(['peer', 'list', '--limit', '2'])).stderr).toContain('more peers')
  })

  it('are changed in what is given only', async () => {
    await createBank()
    expect(await json('peer', 'update', 'bankb', '--limit', '5')).toMatchObject({ name: 'bankb' })
    expect(services.peerRequests.update).toEqual({
      name: 'bankb',
      ilpAddress: undefined,
      routes: undefined,
      endpoint: undefined,
      outgoingToken: undefined,
      receivableLimitValue: '5',
      payableLimitValue: undefined,
      packetLimitValue: undefined,
      lowAlertValue: undefined,
      highAlertValue: undefined
    })
    const file = await write('token', `${OUTGOING}\r\n`)
    await json(
      ...['peer', 'update', 'bankb', '--limit', 'none', '--we-owe-limit', 'none', '--packet-limit', 'none'],
      ...[
        '--low-alert',
        'none',
        '--high-alert',
        'none',
        '--route',
        'none',
        '--ilp-address',
        'g.b',
        '--endpoint',
        'https://b.example'
      ],
      ...['--outgoing-token-file', file]
    )
    expect(services.peerRequests.update).toEqual({
      name: 'bankb',
      ilpAddress: 'g.b',
      routes: { addresses: [] },
      endpoint: 'https://b.example',
      outgoingToken: OUTGOING,
      receivableLimitValue: '',
      payableLimitValue: '',
      packetLimitValue: '',
      lowAlertValue: '',
      highAlertValue: ''
    })
    await json('peer', 'update', 'bankb', '--route', 'g.c', 'g.d')
    expect(services.peerRequests.update?.routes).toEqual({ addresses: ['g.c', 'g.d'] })
    expect((await run(['peer', 'update', 'bankb', '--limit', '-1'])).status).toBe(1)
  })

  it('get another token, with an overlap of a day by default', async () => {
    await createBank()
    const file = await write('token', INCOMING)
    expect(await json('peer', 'rotate-token', 'bankb', '--incoming-token-file', file)).toMatchObject({
      incomingTokens: [
        { hashPrefix: 'fedc9876', expiresAt: null },
        { hashPrefix: '0123abcd', expiresAt: '2026-11-22T10:00:00.000Z' }
      ]
    })
    expect(services.peerRequests.rotate).toEqual({
      name: 'bankb',
      incomingToken: INCOMING,
      overlapSeconds: 86_400
    })
    const rotate = ['peer', 'rotate-token', 'bankb', '--incoming-token', INCOMING, '--overlap-hours']
    expect((await run([...rotate, '0'])).stdout).toContain(
      'fedc9876, 0123abcd until 2026-11-21T10:00:00.000Z'
    )
    expect(services.peerRequests.rotate?.overlapSeconds).toBe(0)
    expect((await run([...rotate, '745'])).stderr).toContain('from 0 to 744')
    expect(await refused('peer', 'rotate-token', 'bankb')).toMatchObject({
      error: { field: 'incoming-token' }
    })
  })

  it('settle once for a key, in either direction', async () => {
    await createBank()
    const settle = ['peer', 'settle', 'bankb', '--value', '150', '--reference', '=1+1', '--key', 'k1']
    expect(await json(...settle)).toMatchObject({ receivable: { value: '-150' }, payable: { value: '0' } })
    expect((await run(settle)).stdout).toBe(
      'Settled 1.50 USD from bankb. It owes -1.50 USD, and is owed 0.00 USD.\n'
    )
    expect(services.settlements.get('k1')).toEqual({
      name: 'bankb',
      direction: wallet.SettlementDirection.SETTLEMENT_DIRECTION_RECEIVED,
      value: '150',
      reference: '=1+1',
      key: 'k1',
      anotherWithReference: false
    })
    await json(...settle.slice(0, -1), 'k2', '--direction', 'sent')
    expect(services.settlements.get('k2')?.direction).toBe(
      wallet.SettlementDirection.SETTLEMENT_DIRECTION_SENT
    )
    expect(
      await refused('peer', 'settle', 'bankb', '--value', '0', '--reference', 'a', '--key', 'k3')
    ).toMatchObject({ error: { code: 'INVALID_ARGUMENT', message: '--value must be above 0' } })
    expect((await run(settle.slice(0, -2))).status).toBe(1)
  })

  it('settle a second time with a reference where that is said, or a program does', async () => {
    await createBank()
    const settle = ['peer', 'settle', 'bankb', '--value', '150', '--reference', 'SEPA 4711', '--key']
    await json(...settle, 'k1')
    const second = await run([...settle, 'k2'])
    expect(second.status).toBe(1)
    expect(second.stderr).toContain('a settlement with this reference was recorded')
    expect((await run([...settle, 'k2', '--another-with-reference'])).stdout).toContain('It owes -3.00 USD')
    expect(await json(...settle, 'k3')).toMatchObject({ receivable: { value: '-450' } })
  })

  it('decide packets of which it is not known whether they arrived', async () => {
    await createBank()
    const [first, second] = ['A', 'B'].map((letter) => letter.repeat(43))
    for (const condition of [first, second])
      services.unknownPackets.push({
        condition: String(condition),
        value: '250',
        payment: 'https://wallet.example/outgoing-payments/1',
        sendTime: new Date('2026-11-27T12:00:00Z'),
        expireTime: new Date('2026-11-27T12:00:20Z'),
        standsForLost: condition === second
      })
    expect(await json('peer', 'unknown-packets', 'bankb')).toMatchObject([
      { condition: first, value: '250', payment: 'https://wallet.example/outgoing-payments/1' },
      { condition: second, standsForLost: true }
    ])
    expect((await run(['peer', 'unknown-packets', 'bankb'])).stdout).toContain('2.50 USD')
    expect(await json('peer', 'decide-packet', 'bankb', '--condition', String(first), '--arrived')).toEqual({
      condition: first,
      outcome: 'arrived'
    })
    expect(
      (await run(['peer', 'decide-packet', 'bankb', '--condition', String(second), '--lost'])).stdout
    ).toBe('Decided: the packet was lost.\n')
    expect(services.decisions.map(({ arrived }) => arrived)).toEqual([true, false])
    expect(services.decisions.map(({ fulfillment }) => fulfillment)).toEqual([undefined, undefined])
    expect(
      await refused('peer', 'decide-packet', 'bankb', '--condition', String(first), '--lost')
    ).toMatchObject({
      error: { code: 'NOT_FOUND' }
    })
    expect(await refused('peer', 'decide-packet', 'bankb', '--condition', String(first))).toMatchObject({
      error: { field: 'arrived' }
    })
  })

  it('decide that a packet arrived by its fulfillment, which may begin with a minus', async () => {
    await createBank()
    const [condition, fulfillment] = ['A'.repeat(43), `-${'B'.repeat(42)}`]
    services.unknownPackets.push(wallet.UnknownPacket.fromPartial({ condition, value: '250' }))
    const proven = ['peer', 'decide-packet', 'bankb', '--condition', condition, '--fulfillment', fulfillment]
    for (const wrong of [['--lost'], ['--arrived', '--value', '1']])
      expect((await run([...proven, ...wrong])).stderr).toContain('cannot be used with')
    expect(services.decisions).toEqual([])
    await json(...proven, '--arrived')
    expect(services.decisions).toMatchObject([{ condition, arrived: true, arrivedValue: '', fulfillment }])
  })

  it('settle again after a lost answer, with the same key', async () => {
    await createBank()
    services.lostAnswers = 10
    const { status, stderr } = await run([
      ...['peer', 'settle', 'bankb', '--value', '150', '--reference', 'x', '--key', 'k1']
    ])
    expect(status).toBe(1)
    expect(stderr).toContain('Run the same command with --key k1')
  })

  describe('with statements', () => {
    const { PEER_ENTRY_KIND_RECEIVED, PEER_ENTRY_KIND_SETTLEMENT_RECEIVED } = wallet.PeerEntryKind
    const PAYMENT = 'http://localhost:4001/incoming-payments/1'
    const packet = (identifier: string, value: string, time: string): wallet.PeerEntry => ({
      kind: PEER_ENTRY_KIND_RECEIVED,
      identifier,
      value,
      bookingTime: new Date(time),
      payment: PAYMENT
    })

    /** What the other side books, in its own statement, which adds up. */
    const theirs = (
      date: string,
      entries: readonly { readonly kind: string; readonly value: string }[],
      more: { readonly owing?: string; readonly [field: string]: unknown } = {}
    ): string => {
      const { owing = PEER_OWED_FIRST, ...others } = more
      const sumOf = (kind: string): bigint =>
        entries.reduce(
          (sum, entry) =>
            entry.kind === kind && /^\d+$/.test(entry.value) ? sum + BigInt(entry.value) : sum,
          0n
        )
      const owed = String(BigInt(owing) + sumOf('sent') - sumOf('settlement_sent'))
      return JSON.stringify({
        peer: 'us',
        asset: { code: 'USD', scale: 2 },
        date,
        opening: { receivable: PEER_IS_OWED, payable: owing },
        closing: { receivable: PEER_IS_OWED, payable: owed },
        entries,
        ...others
      })
    }
    const sent = (
      identifier: string,
      value: string,
      { kind = 'sent', bookedAt = '2026-11-24T12:00:00Z' } = {}
    ) => ({ kind, identifier, value, bookedAt })
    const BY_BANK = { kind: 'settlement_sent' }

    beforeEach(async () => {
      await createBank()
      services.peerEntries.set('2026-11-24', [
        packet('one', '100', '2026-11-24T10:00:00Z'),
        packet('two', '200', '2026-11-24T11:00:00Z'),
        {
          kind: PEER_ENTRY_KIND_SETTLEMENT_RECEIVED,
          identifier: 'INV "7", =1+1',
          value: '150',
          bookingTime: new Date('2026-11-24T12:00:00Z'),
          payment: ''
        }
      ])
    })

    it('are printed as JSON, CSV or a table', async () => {
      const words = ['peer', 'statement', 'bankb', '--date', '2026-11-24']
      const statement = await json(...words)
      expect(statement).toEqual({
        peer: 'bankb',
        asset: { code: 'USD', scale: 2 },
        ilpAddress: 'g.bank-b',
        date: '2026-11-24',
        complete: true,
        opening: { receivable: '-50', payable: '99999999999999999999' },
        closing: { receivable: '100', payable: '99999999999999999999' },
        entries: [
          {
            kind: 'received',
            identifier: 'one',
            value: '100',
            bookedAt: '2026-11-24T10:00:00.000Z',
            payment: PAYMENT
          },
          {
            kind: 'received',
            identifier: 'two',
            value: '200',
            bookedAt: '2026-11-24T11:00:00.000Z',
            payment: PAYMENT
          },
          {
            kind: 'settlement_received',
            identifier: 'INV "7", =1+1',
            value: '150',
            bookedAt: '2026-11-24T12:00:00.000Z'
          }
        ]
      })
      const csv = await run([...words, '--csv'])
      expect(csv.status).toBe(0)
      expect(csv.stdout.split('\r\n')).toContain(
        'bankb,USD,2,g.bank-b,2026-11-24,settlement_received,"INV ""7"", =1+1",150,2026-11-24T12:00:00.000Z,,,,true,'
      )
      const table = (await run(words)).stdout
      expect(table).toMatch(/Opening +owes -0\.50 USD, is owed 999999999999999999\.99 USD/)
      expect(table).toContain('INV "7", =1+1')
      expect(await refused(...words, '--csv')).toMatchObject({
        error: { message: 'give either --json or --csv' }
      })
    })

    it('of a day that is not over have what is there, and say so', async () => {
      services.today = '2026-11-24'
      const words = ['peer', 'statement', 'bankb', '--date', services.today]
      const statement = await json(...words)
      expect(statement).toMatchObject({ date: '2026-11-24', complete: false, entries: [{}, {}, {}] })
      expect((await run(words)).stdout).toContain('2026-11-24, which is not over')
      const file = await write('theirs.json', theirs('2026-11-24', [sent('one', '100')], { complete: false }))
      const { status, stdout } = await run(['peer', 'reconcile', 'bankb', '--statement', file, '--json'])
      expect(status).toBe(1)
      expect(JSON.parse(stdout)).toMatchObject({
        dates: ['2026-11-24'],
        matched: 1,
        differences: [{ kind: 'packet_only_ours' }, { kind: 'settlement_only_ours' }],
        notes: [
          { kind: 'day_not_over', date: '2026-11-24' },
          { kind: 'their_statement_not_complete', date: '2026-11-24' }
        ]
      })
      expect((await run(['peer', 'reconcile', 'bankb', '--statement', file])).stdout).toContain(
        'note: their statement was made before 2026-11-24 was over: what they booked later is not in it\n'
      )
    })

    it('are refused for a day that has not begun, or none', async () => {
      services.today = '2026-11-23'
      expect(await refused('peer', 'statement', 'bankb', '--date', '2026-11-24')).toEqual({
        error: { code: 'FAILED_PRECONDITION', message: '--date has not begun', field: 'date' }
      })
      for (const date of ['2026-11-31', '24.11.2026'])
        expect((await run(['peer', 'statement', 'bankb', '--date', date])).stderr).toContain('2026-11-24')
    })

    it('reconcile when nothing differs, across midnight', async () => {
      services.peerEntries.set('2026-11-25', [packet('late', '7', '2026-11-25T00:00:00Z')])
      const file = await write(
        'theirs.json',
        theirs('2026-11-24', [
          sent('two', '200'),
          sent('one', '100'),
          sent('late', '7', { bookedAt: '2026-11-24T23:59:59Z' }),
          sent('INV "7", =1+1', '150', BY_BANK)
        ])
      )
      expect(await json('peer', 'reconcile', 'bankb', '--statement', file)).toEqual({
        peer: 'bankb',
        dates: ['2026-11-24'],
        matched: 4,
        differences: [],
        notes: [
          {
            kind: 'booked_on_another_day',
            entryKind: 'received',
            identifier: 'late',
            oursDate: '2026-11-25',
            theirsDate: '2026-11-24'
          }
        ]
      })
      expect((await run(['peer', 'reconcile', 'bankb', '--statement', file])).stdout).toBe(
        'note: the packet late is booked on 2026-11-25 with us, on 2026-11-24 with them\n4 entries match, nothing differs.\n'
      )
    })

    it('name every difference, and end with 1', async () => {
      services.today = '2026-11-25'
      const file = await write('theirs.json', theirs('2026-11-24', [sent('one', '101'), sent('three', '7')]))
      const asJson = await run(['peer', 'reconcile', 'bankb', '--statement', file, '--json'])
      expect([asJson.status, asJson.stderr]).toEqual([1, ''])
      expect(JSON.parse(asJson.stdout)).toEqual({
        peer: 'bankb',
        dates: ['2026-11-24'],
        matched: 0,
        differences: [
          {
            kind: 'value_differs',
            entryKind: 'received',
            identifier: 'one',
            ours: '100',
            theirs: '101',
            oursBookedAt: '2026-11-24T10:00:00.000Z',
            theirsBookedAt: '2026-11-24T12:00:00.000Z',
            payment: PAYMENT
          },
          {
            kind: 'packet_only_ours',
            entryKind: 'received',
            identifier: 'two',
            ours: '200',
            theirs: null,
            oursBookedAt: '2026-11-24T11:00:00.000Z',
            theirsBookedAt: null,
            payment: PAYMENT
          },
          {
            kind: 'settlement_only_ours',
            entryKind: 'settlement_received',
            identifier: 'INV "7", =1+1',
            ours: '150',
            theirs: null,
            oursBookedAt: '2026-11-24T12:00:00.000Z',
            theirsBookedAt: null,
            payment: null
          },
          {
            kind: 'packet_only_theirs',
            entryKind: 'received',
            identifier: 'three',
            ours: null,
            theirs: '7',
            oursBookedAt: null,
            theirsBookedAt: '2026-11-24T12:00:00.000Z',
            payment: null
          },
          {
            kind: 'balance_differs',
            date: '2026-11-24',
            moment: 'closing',
            balance: 'receivable',
            expected: '100',
            by: 'ours',
            theirs: '58'
          }
        ],
        notes: [{ kind: 'day_not_over', date: '2026-11-25' }]
      })
      const { status, stdout, stderr } = await run(['peer', 'reconcile', 'bankb', '--statement', file])
      expect([status, stderr]).toEqual([1, ''])
      expect(stdout.split('\n')).toEqual([
        'value differs: received packet one: with us 1.00 USD, booked 2026-11-24T10:00:00.000Z; with them 1.01 USD, booked 2026-11-24T12:00:00.000Z',
        'only with us: received packet two: 2.00 USD, booked 2026-11-24T11:00:00.000Z',
        'only with us: received settlement INV "7", =1+1: 1.50 USD, booked 2026-11-24T12:00:00.000Z',
        'only with them: received packet three: 0.07 USD, booked 2026-11-24T12:00:00.000Z',
        'balance differs: what it owed as 2026-11-24 ended: with us 1.00 USD; with them 0.58 USD',
        'note: 2026-11-25 is not over: what is booked later is not compared yet',
        '0 entries match, 5 differences.',
        ''
      ])
    })

    it('note a reference that one side booked more than once', async () => {
      const entries = [1, 2].map(() => sent('INV 8', '150', BY_BANK))
      const file = await write('theirs.json', theirs('2026-11-24', entries))
      const { stdout } = await run(['peer', 'reconcile', 'bankb', '--statement', file])
      expect(stdout.split('\n')).toContain(
        'note: received settlement INV 8 is booked 2 times with them: on 2026-11-24, 2026-11-24'
      )
      const { notes } = JSON.parse(
        (await run(['peer', 'reconcile', 'bankb', '--statement', file, '--json'])).stdout
      ) as { readonly notes: readonly unknown[] }
      expect(notes).toContainEqual({
        kind: 'reference_repeated',
        by: 'theirs',
        entryKind: 'settlement_received',
        identifier: 'INV 8',
        dates: ['2026-11-24', '2026-11-24']
      })
    })

    it('cannot forge a line of the result by a reference', async () => {
      const forged = sent('x\n4 entries match, nothing differs.\u001b[8m', '1', BY_BANK)
      const file = await write('theirs.json', theirs('2026-11-24', [forged]))
      const { status, stdout } = await run(['peer', 'reconcile', 'bankb', '--statement', file])
      expect(status).toBe(1)
      expect(stdout).toContain(
        'received settlement x\\n4 entries match, nothing differs.\\u001b[8m: 0.01 USD'
      )
    })

    it('whose entries are right name a balance that they do not make', async () => {
      const entries = [sent('one', '100'), sent('two', '200'), sent('INV "7", =1+1', '150', BY_BANK)]
      const closing = { receivable: PEER_IS_OWED, payable: '99' }
      const file = await write('theirs.json', theirs('2026-11-24', entries, { closing }))
      const { status, stdout } = await run(['peer', 'reconcile', 'bankb', '--statement', file])
      expect([status, stdout]).toEqual([
        1,
        'balance differs: what it owed as 2026-11-24 ended: with us 1.00 USD; with them 0.99 USD\n' +
          '3 entries match, 1 difference.\n'
      ])
      // As long as the day is not over here, only what they say themselves is compared.
      services.today = '2026-11-24'
      expect((await run(['peer', 'reconcile', 'bankb', '--statement', file])).stdout).toContain(
        'balance differs: what it owed as 2026-11-24 ended: 0.99 USD, they say; what it began with and what they booked make 1.00 USD\n'
      )
    })

    it('that list again what was booked the day before name it', async () => {
      const again = [sent('one', '100', { bookedAt: '2026-11-25T12:00:00Z' })]
      const file = await write('theirs.json', theirs('2026-11-25', again, { owing: '100' }))
      const { status, stdout } = await run(['peer', 'reconcile', 'bankb', '--statement', file, '--json'])
      expect([status, JSON.parse(stdout)]).toMatchObject([
        1,
        {
          matched: 0,
          differences: [
            { kind: 'packet_only_theirs', identifier: 'one', theirs: '100' },
            { kind: 'balance_differs', moment: 'closing', expected: '100', theirs: '200' }
          ],
          notes: []
        }
      ])
    })

    it('reconcile over several days, whatever their order', async () => {
      const files = [
        await write('b.json', theirs('2026-11-25', [sent('one', '100')], { owing: '150' })),
        await write('a.json', theirs('2026-11-24', [sent('two', '200')]))
      ]
      const { status, stdout } = await run([
        ...['peer', 'reconcile', 'bankb', '--statement', ...files, '--json']
      ])
      expect(status).toBe(1)
      expect(JSON.parse(stdout)).toMatchObject({
        dates: ['2026-11-24', '2026-11-25'],
        matched: 2,
        differences: [
          { kind: 'settlement_only_ours' },
          // The packet that they booked on the next day is expected to be missing; the settlement is not.
          { kind: 'balance_differs', date: '2026-11-24', moment: 'closing', expected: '0', theirs: '150' },
          { kind: 'balance_differs', date: '2026-11-25', moment: 'closing', expected: '100', theirs: '250' }
        ],
        notes: [{ identifier: 'one', oursDate: '2026-11-24', theirsDate: '2026-11-25' }]
      })
    })

    it('are not compared when they are malformed, doubled, of another asset or of a day that has not begun', async () => {
      const good = await write('good.json', theirs('2026-11-24', []))
      const reconcile = (...files: string[]) => refused('peer', 'reconcile', 'bankb', '--statement', ...files)
      const broken = await write('broken.json', theirs('2026-11-24', [sent('one', '1.00')]))
      expect(await reconcile(good, broken)).toMatchObject({
        error: {
          code: 'INVALID_COMMAND',
          message: `the statement ${broken} has a wrong entries[0].value: must be a whole number from 0, as a text`
        }
      })
      expect(await reconcile(good, good)).toMatchObject({
        error: { message: `the statements ${good} and ${good} are both of 2026-11-24` }
      })
      const cents = await write('cents.json', theirs('2026-11-24', [], { asset: { code: 'USD', scale: 4 } }))
      expect(await reconcile(cents)).toMatchObject({
        error: { message: 'the statement of 2026-11-24 is in USD/4, and the peer bankb in USD/2' }
      })
      const early = await write('early.json', theirs('2999-01-01', []))
      expect(await reconcile(early)).toMatchObject({ error: { code: 'FAILED_PRECONDITION' } })
      expect((await run(['peer', 'reconcile', 'bankb'])).status).toBe(1)
    })
  })
})

describe('what happened', () => {
  const ID = '01936000-0000-7000-8000-000000000003'

  it('to a payment is told with its entries', async () => {
    const { status, stdout } = await run(['payment', 'life', ID])
    expect(status).toBe(0)
    expect(stdout).toContain(`outgoing-payments/${ID}`)
    expect(stdout).toMatch(/Entry payment +alice to clearing, posted, 1000 USD/)
    expect(stdout).toMatch(/Told to the auth server +settle, acknowledged 1970-01-01/)
    expect((await run(['payment', 'life', 'x'])).stderr).toContain('Expected a UUID')
  })

  it('to an account is its statement', async () => {
    const { stdout } = await run(['account', 'statement', 'alice'])
    expect(stdout).toContain('10.00 USD')
    expect(stdout).toContain('clearing')
  })

  it('in each hour is counted', async () => {
    expect(await json('payment', 'hours', '--hours', '2')).toMatchObject([
      { createdCount: '3', completedCount: '2', failedCount: '1' },
      { createdCount: '3' }
    ])
    expect((await run(['payment', 'hours', '--hours', '721'])).status).toBe(1)
  })

  it('under a grant is told with what is spent', async () => {
    services.grants.push({
      grantId: GRANT_ID,
      state: auth.GrantState.GRANT_STATE_ISSUED,
      client: { walletAddress: SHOP, jwkThumbprint: '' },
      access: [],
      createTime: new Date(0),
      updateTime: new Date(0)
    })
    const { stdout } = await run(['grant', 'show', GRANT_ID])
    expect(stdout).toContain('spent 5.00 USD')
  })

  it('is looked for by time, amount, state and client', async () => {
    const words = ['--from', '2026-01-01', '--until', '2026-02-01', '--amount', '1000', '--state', 'failed']
    expect((await run(['payment', 'list', '--outgoing', ...words, '--client', SHOP])).status).toBe(0)
    expect(services.paymentFilters.at(-1)).toMatchObject({
      ...{ value: '1000', state: 'failed', client: SHOP },
      fromTime: new Date('2026-01-01'),
      untilTime: new Date('2026-02-01')
    })
    expect((await run(['payment', 'list', '--outgoing', '--from', 'never'])).status).toBe(1)
    expect((await run(['payment', 'list', '--outgoing', '--amount', '1.5'])).status).toBe(1)
  })
})
