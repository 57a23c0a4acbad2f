import { type ServiceDefinition, type ServiceError, makeClientConstructor } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { composeAuthServer, loadConfig as loadAuthServerConfig } from '@open-payments-server/auth-server'
import { callUnary, createClient, status } from '@open-payments-server/grpc-transport'
import { auth, events, wallet } from '@open-payments-server/proto'
import {
  composeResourceServer,
  loadConfig as loadResourceServerConfig
} from '@open-payments-server/resource-server'
import type { TestDatabase } from '@open-payments-server/testing'
import type { CertificateOptions } from '@open-payments-server/testing/certificates'
import { consentedToken, outgoingAccess } from '../src/consent.js'
import { allSettled, createReceiver, pay } from '../src/payments.js'
import { type CommandOutput, runOperatorCli } from '../src/run-operator-cli.js'
import type { ServiceName } from '../src/service-name.js'
import { OPENING_BALANCE, startSystem, type System } from '../src/system.js'
import { CLIENT_NAMES, createSystemTls, SERVER_NAMES, type SystemTls } from '../src/system-tls.js'

let tls: SystemTls
let system: System

beforeAll(async () => {
  tls = await createSystemTls()
  system = await startSystem({ tls })
})
afterAll(async () => {
  await system.stop()
  await tls.stop()
})

describe('both services with certificates', () => {
  it('make a payment, and an audit of both sides finds nothing', async () => {
    const receiver = await createReceiver(system, system.shop)
    const { token } = await consentedToken(system, system.shop, [outgoingAccess(system)])
    const answer = await pay(system, system.shop, token, receiver.url, 500n)
    expect(answer.status).toBe(201)
    await allSettled(system)
    expect(await system.balance('alice')).toBe(OPENING_BALANCE - 500n)
    expect(await system.balance('bob')).toBe(500n)
    expect(await system.audit()).toEqual([])
  })
})

type Services =
  | 'introspection'
  | 'limits'
  | 'operator'
  | 'auditing'
  | 'events'
  | 'webhooks'
  | 'allowed grants'
  | 'wallets'
  | 'wallet events'
  | 'wallet webhooks'
  | 'wallet holders'

const { auditLimits, listFrozenClients } = auth.GrantOperatorServiceService
/** What the resource server may call of the operator's methods. */
const READING: readonly string[] = [auditLimits.path, listFrozenClients.path]
const METHODS: Readonly<Record<Services, readonly string[]>> = {
  introspection: pathsOf(auth.IntrospectionServiceService),
  limits: pathsOf(auth.GrantLimitsServiceService),
  operator: pathsOf(auth.GrantOperatorServiceService).filter((path) => !READING.includes(path)),
  auditing: READING,
  events: pathsOf(events.EventServiceService),
  webhooks: pathsOf(events.WebhookServiceService),
  wallets: pathsOf(wallet.WalletOperatorServiceService),
  'wallet events': pathsOf(events.EventServiceService),
  'wallet webhooks': pathsOf(events.WebhookServiceService),
  'allowed grants': pathsOf(auth.HolderGrantServiceService),
  'wallet holders': pathsOf(wallet.HolderServiceService)
}

function pathsOf(definition: ServiceDefinition): string[] {
  return Object.values(definition).map(({ path }) => path)
}

/** Calls every method with an empty message. Returns whether each was allowed. */
async function letIn(certificate: CertificateOptions, services: Services): Promise<boolean> {
  const service = services.startsWith('wallet') ? 'resource-server' : 'auth-server'
  const instances = service === 'resource-server' ? system.resourceServers : system.authServers
  const client = createClient(makeClientConstructor({}, 'Any'), {
    ...(await tls.channel(certificate, service)),
    target: `127.0.0.1:${String(instances[0]?.grpcPort)}`,
    deadlineMs: 10_000,
    retriesMax: 0,
    messageBytesMax: 4_000_000
  })
  const codeOf = (path: string): Promise<status> =>
    new Promise((resolve) => {
      const call = client.makeServerStreamRequest(
        path,
        () => Buffer.alloc(0),
        (bytes) => bytes,
        {},
        { deadline: Date.now() + 10_000 }
      )
      call.on('data', () => {
        // An allowed stream reports that it started, and stays open.
        resolve(status.OK)
        call.cancel()
      })
      call.on('end', () => {
        resolve(status.OK)
      })
      call.on('error', ({ code }: ServiceError) => {
        resolve(code)
      })
    })
  const codes = await Promise.all(METHODS[services].map(codeOf))
  client.close()
  const refused = codes.filter((code) => code === status.PERMISSION_DENIED).length
  if (refused !== 0 && refused !== codes.length) throw new Error(`let in to some: ${codes.join()}`)
  expect(codes).not.toContain(status.UNAVAILABLE)
  expect(codes).not.toContain(status.UNIMPLEMENTED)
  return refused === 0
}

describe('a client whose certificate has', () => {
  it.each<[string, CertificateOptions, Services[]]>([
    [
      'the name of the resource server',
      { uris: [CLIENT_NAMES['resource-server']] },
      ['introspection', 'limits', 'auditing']
    ],
    ['the name of a service that introspects', { dnsNames: [CLIENT_NAMES.gateway] }, ['introspection']],
    [
      'the name of an operator',
      { uris: [CLIENT_NAMES.operator] },
      ['operator', 'auditing', 'events', 'webhooks', 'wallets', 'wallet events', 'wallet webhooks']
    ],
    ['the name of a service that watches', { uris: [CLIENT_NAMES.watcher] }, ['events', 'wallet events']],
    ['the name of pages', { uris: [CLIENT_NAMES.pages] }, ['allowed grants', 'wallet holders']],
    ['the name of an operator as its common name', { commonName: CLIENT_NAMES.operator }, []],
    ['no name at all', {}, []]
  ])('%s is let in where it is named, and nowhere else', async (_, certificate, expected) => {
    const services = Object.keys(METHODS) as Services[]
    const allowed: Services[] = []
    for (const service of services) if (await letIn(certificate, service)) allowed.push(service)
    expect(allowed).toEqual(expected)
  })
})

describe('what an operator orders', () => {
  const call = { idempotent: false }
  const NAMES = [CLIENT_NAMES.operator, 'desk-7.wallet.test']
  let operator: wallet.WalletOperatorServiceClient
  let grantOperator: auth.GrantOperatorServiceClient
  beforeAll(async () => {
    const certificate = { uris: [CLIENT_NAMES.operator], dnsNames: ['desk-7.wallet.test'] }
    const channel = async (service: ServiceName, port: number | undefined) => ({
      ...(await tls.channel(certificate, service)),
      target: `127.0.0.1:${String(port)}`,
      deadlineMs: 10_000,
      retriesMax: 0,
      messageBytesMax: 4_000_000
    })
    operator = createClient(
      wallet.WalletOperatorServiceClient,
      await channel('resource-server', system.resourceServers[0]?.grpcPort)
    )
    grantOperator = createClient(
      auth.GrantOperatorServiceClient,
      await channel('auth-server', system.authServers[0]?.grpcPort)
    )
  })
  afterAll(() => {
    operator.close()
    grantOperator.close()
  })
  /** Every name of the certificate, in whatever order it has them. */
  const expectNames = (by: string | undefined): void => {
    expect(by?.split(', ').toSorted()).toEqual(NAMES.toSorted())
  }
  const paid = async (debit: bigint): Promise<string> => {
    const { url } = await createReceiver(system, system.shop)
    const { token } = await consentedToken(system, system.shop, [outgoingAccess(system)])
    return (await pay(system, system.shop, token, url, debit)).textAt('id')
  }
  /** Who events of a type name. */
  const told = async (type: string, database: TestDatabase): Promise<string | undefined> => {
    const [row] = await database.query<{ by: string | null }>(
      `select change->>'by' as by from (select type, change from event union all select type, change from event_outbox) as told
        where type = $1`,
      [type]
    )
    return row?.by ?? undefined
  }

  it('about a payment is recorded with every name in the certificate', async () => {
    const order = {
      aboveValue: '100',
      walletAddress: system.walletAddresses.alice,
      client: '',
      firstPayee: false,
      method: ''
    }
    const { rule } = await callUnary(operator, 'createApprovalRule', order, call)
    const [approved, declined] = [await paid(101n), await paid(102n)]
    for (const [method, outgoingPayment] of [
      ['approvePayment', approved],
      ['declinePayment', declined]
    ] as const) {
      await callUnary(operator, method, { outgoingPayment, reason: 'ticket 4711' }, call)
      const { payment } = await callUnary(system.operator, 'getOutgoingPayment', { outgoingPayment }, call)
      expect(payment?.approval?.reason).toBe('ticket 4711')
      expectNames(payment?.approval?.decidedBy)
    }
    await callUnary(operator, 'deleteApprovalRule', { ruleId: rule?.id ?? '' }, call)
    await allSettled(system)
    const refund = { refundOf: approved, value: '5', idempotencyKey: '', returnsFee: false }
    expectNames((await callUnary(operator, 'createRefund', refund, call)).refund?.createdBy)
    const listed = { refundOf: approved, pageSize: 0, pageToken: '' }
    expectNames((await callUnary(system.operator, 'listRefunds', listed, call)).refunds[0]?.createdBy)
  })

  it('to be frozen is recorded with every name in the certificate', async () => {
    const reason = 'ticket 4712'
    const { account } = await callUnary(operator, 'freezeAccount', { accountName: 'market', reason }, call)
    expectNames(account?.freeze?.frozenBy)
    const { market, shop } = system.walletAddresses
    const frozen = await callUnary(operator, 'freezeWalletAddress', { walletAddress: market, reason }, call)
    expectNames(frozen.walletAddress?.freeze?.frozenBy)
    const { client } = await callUnary(grantOperator, 'freezeClient', { client: shop, reason }, call)
    expectNames(client?.frozenBy)
    for (const type of ['account.frozen', 'wallet_address.frozen'])
      expectNames(await told(type, system.resourceDatabase))
    expectNames(await told('client.frozen', system.authDatabase))

    await callUnary(operator, 'unfreezeAccount', { accountName: 'market', reason }, call)
    await callUnary(operator, 'unfreezeWalletAddress', { walletAddress: market, reason }, call)
    await callUnary(grantOperator, 'unfreezeClient', { client: shop, reason }, call)
    for (const type of ['account.unfrozen', 'wallet_address.unfrozen'])
      expectNames(await told(type, system.resourceDatabase))
    expectNames(await told('client.unfrozen', system.authDatabase))
  })
})

describe('a machine at the command line', () => {
  const VIEWER = 'spiffe://wallet.test/night'
  const OPERATOR = 'spiffe://wallet.test/desk'
  /** May call, but OPERATOR_MACHINES does not say what. */
  const UNNAMED = 'spiffe://wallet.test/console'
  let named: System
  beforeAll(async () => {
    const settings = {
      GRPC_OPERATOR_CLIENTS: [CLIENT_NAMES.operator, VIEWER, OPERATOR, UNNAMED].join(','),
      OPERATOR_MACHINES: `${CLIENT_NAMES.operator}=operator+approver,${VIEWER}=viewer,${OPERATOR}=operator`
    }
    named = await startSystem({ tls, auth: settings, resource: settings })
    // Only a client that has asked for a grant can be frozen.
    await consentedToken(named, named.shop, [outgoingAccess(named)])
  })
  afterAll(() => named.stop())

  /** The command line with a certificate of this name. */
  const cli = async (name: string, ...words: string[]): Promise<CommandOutput> => {
    const { authority, certificate, key } = await tls.files({ uris: [name] })
    return runOperatorCli(named, words, {
      OPERATOR_TLS_CA_FILE: authority,
      OPERATOR_TLS_CERTIFICATE_FILE: certificate,
      OPERATOR_TLS_KEY_FILE: key,
      AUTH_GRPC_TLS_SERVER_NAME: SERVER_NAMES['auth-server'],
      WALLET_GRPC_TLS_SERVER_NAME: SERVER_NAMES['resource-server']
    })
  }
  /** What a command was refused with: PERMISSION_DENIED and these words. */
  const refusal = async (name: string, ...words: string[]): Promise<string> => {
    const { status: exit, stderr } = await cli(name, ...words)
    const { error } = JSON.parse(stderr) as { error: { code: string; message: string } }
    expect([exit, error.code]).toEqual([1, 'PERMISSION_DENIED'])
    return error.message
  }
  const freeze = ['freeze', 'account', 'carol', '--reason', 'stolen phone']
  const freezeClient = (): string[] => [
    'freeze',
    'client',
    named.walletAddresses.shop,
    '--reason',
    'stolen phone'
  ]

  it('may list and change nothing as a viewer', async () => {
    for (const words of [
      ['account', 'list'],
      ['grant', 'list']
    ])
      expect((await cli(VIEWER, ...words)).status).toBe(0)
    const missing = 'This call needs the role operator, which the machine does not have'
    expect(await refusal(VIEWER, ...freeze)).toBe(missing)
    expect(await refusal(VIEWER, ...freezeClient())).toBe(missing)
    expect((await cli(VIEWER, 'actions', 'list')).stdout).not.toContain(VIEWER)
  })

  it('may do nothing where OPERATOR_MACHINES does not name it, or no list admits it', async () => {
    const missing = 'This call needs the role viewer, which the machine does not have'
    expect(await refusal(UNNAMED, 'account', 'list')).toBe(missing)
    expect(await refusal(UNNAMED, 'grant', 'list')).toBe(missing)
    expect(await refusal(CLIENT_NAMES.watcher, 'account', 'list')).not.toBe(missing)
    expect(await refusal(CLIENT_NAMES.watcher, 'grant', 'list')).not.toBe(missing)
  })

  it('acts as an operator under the name in its certificate', async () => {
    for (const words of [freeze, freezeClient()]) {
      expect(await cli(OPERATOR, ...words)).toMatchObject({ status: 0, stderr: '' })
      const { stdout } = await cli(VIEWER, 'actions', 'list', '--by', OPERATOR)
      expect((JSON.parse(stdout) as unknown[])[0]).toMatchObject({
        operator: { machine: OPERATOR },
        role: 'operator',
        subject: words[2],
        reason: 'stolen phone',
        outcome: 'done'
      })
    }
  })
})

describe('a resource server that the auth server refuses', () => {
  it('makes no payment, and answers 503', async () => {
    const other = await startSystem({ tls, auth: { GRPC_LIMITS_CLIENTS: 'other.wallet.test' } })
    try {
      const receiver = await createReceiver(other, other.shop)
      const { token } = await consentedToken(other, other.shop, [outgoingAccess(other)])
      const answer = await pay(other, other.shop, token, receiver.url, 500n)
      expect(answer.status).toBe(503)
      expect(await other.balance('alice')).toBe(OPENING_BALANCE)
    } finally {
      await other.stop()
    }
  })
})

describe('a service is not started with certificates', () => {
  it('that are unreadable, and names them', async () => {
    const [authServer] = system.authServers
    const [resourceServer] = system.resourceServers
    await expect(
      composeAuthServer(
        loadAuthServerConfig({ ...authServer?.settings, GRPC_TLS_KEY_FILE: '/nowhere/tls.key' })
      )
    ).rejects.toThrow(/- GRPC_TLS_KEY_FILE: \/nowhere\/tls\.key cannot be read: ENOENT/)
    await expect(
      composeResourceServer(
        loadResourceServerConfig({ ...resourceServer?.settings, AUTH_GRPC_TLS_CA_FILE: '/nowhere/ca.crt' })
      )
    ).rejects.toThrow(/- AUTH_GRPC_TLS_CA_FILE: \/nowhere\/ca\.crt cannot be read: ENOENT/)
  })

  it('that do not match, and names them', async () => {
    const settings = system.authServers[0]?.settings
    const other = system.resourceServers[0]?.settings['GRPC_TLS_KEY_FILE'] ?? ''
    await expect(
      composeAuthServer(loadAuthServerConfig({ ...settings, GRPC_TLS_KEY_FILE: other }))
    ).rejects.toThrow(/- GRPC_TLS_KEY_FILE: \S+ must contain the key of the certificate in \S+/)
  })
})
