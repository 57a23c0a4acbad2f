import { mkdtemp, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { consentedToken, outgoingAccess } from '../src/consent.js'
import { allSettled, createReceiver, eventually, pay } from '../src/payments.js'
import { type CommandOutput, runOperatorCli } from '../src/run-operator-cli.js'
import { startSystem, type System } from '../src/system.js'

let system: System
beforeAll(async () => {
  system = await startSystem()
})
afterAll(async () => {
  await allSettled(system)
  expect(await system.audit()).toEqual([])
  await system.stop()
})

/** A command line as an operator runs it. */
function run(...words: string[]): Promise<CommandOutput> {
  return runOperatorCli(system, words)
}

/** The one document of a command that must succeed. */
async function json(...words: string[]): Promise<Record<string, unknown>> {
  const { status, items, stderr } = await run(...words)
  expect([words.join(' '), status, stderr]).toEqual([words.join(' '), 0, ''])
  return items[0] ?? {}
}

/** The error of a command that must be refused. */
async function refusal(...words: string[]): Promise<{ code?: string; message?: string }> {
  const { status, stdout, stderr } = await run(...words)
  expect([words.join(' '), status, stdout]).toEqual([words.join(' '), 1, ''])
  return (JSON.parse(stderr) as { error: { code: string; message: string } }).error
}

async function paid(debit = 1_000n): Promise<string> {
  const { token } = await consentedToken(system, system.shop, [outgoingAccess(system, {})])
  const receiver = await createReceiver(system, system.shop)
  return (await pay(system, system.shop, token, receiver.url, debit)).textAt('id')
}

describe('webhook', () => {
  it('registers, shows, tests, replays, rotates, disables and deletes endpoints', async () => {
    const taken: string[] = []
    const server = createServer((request, response) => {
      request.resume()
      taken.push(String(request.headers['webhook-id']))
      response.writeHead(204).end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`
    const created = await json(
      'webhook',
      'create',
      url,
      '--service',
      'resource-server',
      '--types',
      'incoming_payment.created'
    )
    expect(created).toEqual({
      id: expect.any(String),
      service: 'resource-server',
      secret: expect.stringMatching(/^whsec_/)
    })
    const id = String(created.id)
    await createReceiver(system, system.shop)
    await eventually('it arrives', () => Promise.resolve(taken.length === 1))
    expect((await run('webhook', 'list')).items).toMatchObject([{ id, service: 'resource-server', url }])
    expect(await json('webhook', 'show', id)).toMatchObject({
      state: 'enabled',
      types: ['incoming_payment.created']
    })
    expect(await json('webhook', 'test', id)).toMatchObject({ delivered: true, status: 204 })
    await eventually('it is recorded', async () => (await run('webhook', 'attempts', id)).items.length === 1)
    expect(await json('webhook', 'attempts', id)).toMatchObject({ eventId: taken[0], status: 204 })
    expect(await json('webhook', 'replay', id, '--after', new Date(0).toISOString())).toMatchObject({ id })
    await eventually('it arrives again', () =>
      Promise.resolve(taken.filter((each) => each === taken[0]).length === 2)
    )
    expect((await json('webhook', 'rotate-secret', id)).secret).not.toBe(created.secret)
    expect(await json('webhook', 'disable', id)).toMatchObject({
      state: 'disabled',
      disabledCause: 'operator'
    })
    expect(await json('webhook', 'update', id, '--enable')).toMatchObject({ state: 'enabled' })
    await json('webhook', 'delete', id)
    expect(await refusal('webhook', 'show', id)).toMatchObject({ code: 'NOT_FOUND' })
    server.closeAllConnections()
    server.close()
  })

  it('refuses what cannot be an endpoint', async () => {
    for (const url of [
      'https://10.0.0.1/',
      'http://93.184.216.34/',
      'https://u:p@hooks.example/',
      `https://hooks.example/${'x'.repeat(2_049)}`
    ])
      expect(await refusal('webhook', 'create', url, '--service', 'auth-server')).toMatchObject({
        code: 'INVALID_ARGUMENT'
      })
    expect(
      await refusal('webhook', 'create', 'https://hooks.example/', '--service', 'auth-server', '--types', 'x')
    ).toMatchObject({
      code: 'INVALID_ARGUMENT'
    })
  })
})

describe('event', () => {
  it('lists the events of a service after a cursor', async () => {
    await createReceiver(system, system.shop)
    // None is to come between the two lists.
    await eventually('all events are published', async () => {
      const waiting = await system.resourceDatabase.query('select 1 from event_outbox limit 1')
      return waiting.length === 0
    })
    const all = await run('event', 'list', '--service', 'resource-server', '--limit', '1000')
    expect(all.items.length).toBeGreaterThan(0)
    const [first] = all.items
    expect(first).toEqual({
      id: expect.any(String),
      type: expect.any(String),
      time: expect.any(String),
      subject: expect.any(String),
      sequence: expect.any(Number),
      data: expect.anything(),
      cursor: expect.any(String)
    })
    const rest = await run(
      'event',
      'list',
      '--service',
      'resource-server',
      '--after',
      String(first?.cursor),
      '--limit',
      '1000'
    )
    expect(rest.items.map(({ id }) => id)).toEqual(all.items.slice(1).map(({ id }) => id))
    for (const cursor of [
      String(first?.cursor).replace('resource', 'auth'),
      'x',
      'resource-server.999999999'
    ])
      expect(await refusal('event', 'list', '--service', 'resource-server', '--after', cursor)).toMatchObject(
        {
          code: 'INVALID_ARGUMENT'
        }
      )
  })
})

describe('approval-rule and payment', () => {
  it('let an operator approve and decline payments that meet a rule', async () => {
    const rule = await json(
      'approval-rule',
      'create',
      '--wallet-address',
      system.walletAddresses.alice,
      '--above',
      '500'
    )
    expect(rule.id).toEqual(expect.any(String))
    expect((await run('approval-rule', 'list')).items).toMatchObject([{ id: rule.id }])
    const [approved, declined] = [await paid(), await paid()]
    expect(await json('payment', 'show', approved)).toMatchObject({
      url: approved,
      state: 'awaiting_approval'
    })
    expect(await json('payment', 'approve', approved, '--reason', 'known')).toMatchObject({
      approval: { decision: 'approved' }
    })
    expect(await json('payment', 'decline', declined, '--reason', 'fraud')).toMatchObject({
      state: 'failed',
      failureReason: 'declined_by_provider'
    })
    await allSettled(system)
    expect(await json('payment', 'show', approved)).toMatchObject({ state: 'completed' })
    expect(await refusal('payment', 'decline', approved)).toMatchObject({ code: 'FAILED_PRECONDITION' })
    expect(await refusal('payment', 'approve', declined)).toMatchObject({ code: 'FAILED_PRECONDITION' })
    const unknown = `${declined.slice(0, -1)}${declined.endsWith('0') ? '1' : '0'}`
    expect(await refusal('payment', 'approve', unknown)).toMatchObject({ code: 'NOT_FOUND' })
    expect(
      await refusal('payment', 'approve', 'https://elsewhere.example/outgoing-payments/1')
    ).toMatchObject({
      code: 'INVALID_ARGUMENT'
    })
    await json('approval-rule', 'delete', String(rule.id))
    expect(await refusal('approval-rule', 'delete', String(rule.id))).toMatchObject({ code: 'NOT_FOUND' })
  })
})

describe('refund', () => {
  it('gives back what a payment delivered, once for a key, and never more', async () => {
    const payment = await paid(1_000n)
    await allSettled(system)
    const refund = await json('refund', 'create', payment, '--value', '400', '--key', 'ticket-1')
    expect(refund).toEqual({ id: expect.any(String), refundOf: payment, value: '400' })
    expect(await json('refund', 'create', payment, '--value', '400', '--key', 'ticket-1')).toEqual(refund)
    expect(await refusal('refund', 'create', payment, '--value', '401', '--key', 'ticket-1')).toMatchObject({
      code: 'ALREADY_EXISTS'
    })
    expect(await refusal('refund', 'create', payment, '--value', '601')).toMatchObject({
      code: 'FAILED_PRECONDITION'
    })
    expect(await refusal('refund', 'create', payment, '--value', '0')).toMatchObject({
      code: 'INVALID_ARGUMENT'
    })
    expect(await json('refund', 'create', payment, '--value', '600')).toMatchObject({ value: '600' })
  })
})

describe('freeze', () => {
  it('stops and releases an account, a wallet address and a client', async () => {
    const { alice } = system.walletAddresses
    for (const [kind, name] of [
      ['account', 'alice'],
      ['wallet-address', alice],
      ['client', system.shop.walletAddress]
    ] as const) {
      expect(await json('freeze', kind, name, '--reason', 'ticket 7')).toMatchObject({
        kind,
        name,
        frozen: true
      })
      expect(await json('freeze', kind, name)).toMatchObject({ frozen: true })
      expect(await json('unfreeze', kind, name)).toMatchObject({ frozen: false })
    }
    expect(await refusal('freeze', 'account', 'nobody')).toMatchObject({ code: 'NOT_FOUND' })
  })
})

describe('peer', () => {
  const bounds = ['--limit', '100000', '--packet-limit', '5000', '--low-alert', '1000']
  const other = [
    ...['--asset-code', 'USD', '--asset-scale', '2', '--ilp-address', 'test.other'],
    ...['--endpoint', 'http://localhost:1/', '--outgoing-token', 'what-we-present-to-them']
  ]

  it('creates, shows, lists, changes and settles peers, and rotates their tokens', async () => {
    const created = await json(
      ...['peer', 'create', 'other', ...other, '--incoming-token', 'what-they-present-to-us', ...bounds]
    )
    expect(created).toMatchObject({ id: expect.any(String), ilpAddress: 'test.other' })
    expect(await json('peer', 'show', 'other')).toEqual(created)
    expect((await run('peer', 'list')).items).toEqual([created])
    expect(await json('peer', 'update', 'other', '--limit', '200000')).toMatchObject({
      receivableLimit: { value: '200000', assetCode: 'USD', assetScale: 2 }
    })
    const rotated = await json('peer', 'rotate-token', 'other', '--incoming-token', 'what-they-present-later')
    expect(rotated.incomingTokens).toHaveLength(2)
    const settlement = ['--value', '700', '--reference', 'bank 1', '--key', 'settlement-1']
    for (let times = 0; times < 2; times += 1) {
      expect(await json('peer', 'settle', 'other', ...settlement)).toMatchObject({
        receivable: { value: '-700', assetCode: 'USD', assetScale: 2 }
      })
    }
  })

  it('lists several peers in one document', async () => {
    const words = other.map((word) => (word === 'test.other' ? 'test.second' : word))
    await json(
      'peer',
      'create',
      'second',
      ...words,
      '--incoming-token',
      'what-a-second-one-presents',
      ...bounds
    )
    const { stdout } = await run('peer', 'list')
    expect(JSON.parse(stdout)).toMatchObject([{ name: 'other' }, { name: 'second' }])
  })

  it('shows what was booked today until now, and compares it', async () => {
    const today = new Date(system.clock.now()).toISOString().slice(0, 10)
    const settlement = ['--value', '11', '--reference', 'bank 2', '--key', 'settlement-2']
    await json('peer', 'settle', 'other', '--direction', 'sent', ...settlement)
    const { stdout, status } = await run('peer', 'statement', 'other', '--date', today)
    expect(status).toBe(0)
    const statement = JSON.parse(stdout) as { readonly entries: readonly { readonly identifier: string }[] }
    expect(statement).toMatchObject({
      date: today,
      complete: false,
      closing: { payable: '-11' },
      entries: expect.arrayContaining([
        expect.objectContaining({ kind: 'settlement_sent', identifier: 'bank 2', value: '11' })
      ]) as unknown
    })
    // As the other side would have booked it, and nothing else.
    const booked = statement.entries.find(({ identifier }) => identifier === 'bank 2')
    const theirs = { ...statement, entries: [{ ...booked, kind: 'settlement_received' }] }
    const file = join(await mkdtemp(join(tmpdir(), 'statement-')), 'theirs.json')
    await writeFile(file, JSON.stringify(theirs))
    const compared = await run('peer', 'reconcile', 'other', '--statement', file)
    expect(compared.status).toBe(1)
    expect(JSON.parse(compared.stdout)).toMatchObject({
      matched: 1,
      differences: [{ kind: 'settlement_only_ours', identifier: 'bank 1', ours: '700' }],
      notes: [
        { kind: 'day_not_over', date: today },
        { kind: 'their_statement_not_complete', date: today }
      ]
    })
  })

  it('shows an empty day, and finds nothing that differs from it', async () => {
    const { stdout, status } = await run('peer', 'statement', 'other', '--date', '2026-01-01')
    expect(status).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ peer: 'other', date: '2026-01-01', entries: [] })
    const file = join(await mkdtemp(join(tmpdir(), 'statement-')), 'theirs.json')
    await writeFile(file, stdout)
    expect(await json('peer', 'reconcile', 'other', '--statement', file)).toMatchObject({
      matched: 0,
      differences: []
    })
  })

  it('refuses what cannot be, and says why', async () => {
    expect(await refusal('peer', 'show', 'nobody')).toMatchObject({ code: 'NOT_FOUND' })
    expect(
      await refusal(
        ...['peer', 'create', 'other', ...other, '--incoming-token', 'a-token-of-its-own', ...bounds]
      )
    ).toMatchObject({ code: 'ALREADY_EXISTS' })
    expect(await refusal('peer', 'statement', 'other', '--date', '2999-01-01')).toMatchObject({
      code: 'FAILED_PRECONDITION'
    })
  })
})
