import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Answer, send, type SignedRequestOptions } from '@open-payments-server/testing'
import { consentedToken, outgoingAccess, requestInteractiveGrant, requestToken } from '../src/consent.js'
import { digestOf } from '../src/database-digest.js'
import { amount, createReceiver } from '../src/payments.js'
import { startSystem, type System } from '../src/system.js'

/** The request, the answer, and the field that the answer names (in `details`, or in the description). */
type Case = readonly [what: string, body: unknown, status: number, field?: string]

const USD = { assetCode: 'USD', assetScale: 2 }
const MALFORMED_VALUES: readonly unknown[] = [
  '',
  '-1',
  '+1',
  '01',
  '1.0',
  '1e3',
  ' 1',
  '1 ',
  '0x1',
  '18446744073709551616',
  '9'.repeat(100),
  1,
  null,
  true,
  {},
  []
]

describe('malformed input', () => {
  let system: System
  let incomingToken: string
  let quoteToken: string
  let payToken: string
  let receiver: string
  let before: string[]

  const digests = (): Promise<string[]> =>
    Promise.all([digestOf(system.authDatabase), digestOf(system.resourceDatabase)])

  beforeAll(async () => {
    system = await startSystem()
    const { url, token } = await createReceiver(system, system.shop)
    receiver = url
    incomingToken = token
    quoteToken = await requestToken(system, system.shop, [{ type: 'quote', actions: ['create', 'read'] }])
    payToken = (await consentedToken(system, system.shop, [outgoingAccess(system)])).token
    before = await digests()
  })
  afterAll(() => system.stop())

  const expectRefusal = async (answer: Answer, status: number, field?: string): Promise<void> => {
    expect({ status: answer.status, body: answer.body }).toMatchObject({
      status,
      body: { error: { code: expect.any(String), description: expect.any(String) } }
    })
    expect(answer.text).not.toMatch(/at .*\.(js|ts):|node_modules|prisma|postgres|select |insert /i)
    if (field !== undefined) {
      const named = [answer.textAt('error.description'), ...Object.keys(answer.at('error.details') ?? {})]
      expect(named.some((text) => text.includes(field))).toBe(true)
    }
    expect(await digests()).toEqual(before)
  }

  describe('of a grant request', () => {
    const grantRequest = (changes: Record<string, unknown>): Record<string, unknown> => ({
      client: system.shop.walletAddress,
      access_token: { access: [{ type: 'quote', actions: ['create'] }] },
      ...changes
    })
    const withAccess = (item: Record<string, unknown>): Record<string, unknown> =>
      grantRequest({
        access_token: { access: [item] },
        interact: {
          start: ['redirect'],
          finish: { method: 'redirect', uri: 'http://localhost:2/', nonce: 'n' }
        }
      })
    const withLimits = (limits: unknown): Record<string, unknown> =>
      withAccess({
        type: 'outgoing-payment',
        actions: ['create'],
        identifier: system.walletAddresses.alice,
        limits
      })

    const cases: readonly [what: string, body: () => unknown, field: string][] = [
      ['no client', () => grantRequest({ client: undefined }), 'client'],
      ['a client that is a number', () => grantRequest({ client: 5 }), 'client'],
      ['a client that is no URL', () => grantRequest({ client: 'shop' }), 'client'],
      [
        'a client with both forms',
        () =>
          grantRequest({ client: { walletAddress: system.shop.walletAddress, jwk: system.shop.key.jwk } }),
        'client'
      ],
      [
        'a jwk with a private key',
        () => grantRequest({ client: { jwk: { ...system.shop.key.jwk, d: 'AAAA' } } }),
        'jwk'
      ],
      ['neither access nor subject', () => grantRequest({ access_token: undefined }), 'access_token'],
      [
        'an access that is no list',
        () => grantRequest({ access_token: { access: {} } }),
        'access_token.access'
      ],
      ['an empty access', () => grantRequest({ access_token: { access: [] } }), 'access_token.access'],
      [
        'too many access items',
        () =>
          grantRequest({
            access_token: {
              access: [1, 2, 3, 4].map((n) => ({
                type: 'incoming-payment',
                actions: ['create'],
                identifier: `${system.walletAddresses.bob}${String(n)}`
              }))
            }
          }),
        'access_token.access'
      ],
      ['an unknown type', () => withAccess({ type: 'account', actions: ['read'] }), 'access_token.access[0]'],
      [
        'an unknown action',
        () => withAccess({ type: 'quote', actions: ['delete'] }),
        'access_token.access[0].actions'
      ],
      [
        'an action of another type',
        () => withAccess({ type: 'quote', actions: ['complete'] }),
        'access_token.access[0].actions'
      ],
      ['no action', () => withAccess({ type: 'quote', actions: [] }), 'access_token.access[0].actions'],
      [
        'an identifier that is no URL',
        () => withAccess({ type: 'incoming-payment', actions: ['create'], identifier: 'bob' }),
        'access_token.access[0].identifier'
      ],
      [
        'an outgoing payment without identifier',
        () => withAccess({ type: 'outgoing-payment', actions: ['create'] }),
        'access_token.access[0].identifier'
      ],
      [
        'an outgoing payment without interact',
        () => grantRequest({ access_token: { access: [outgoingAccess(system)] } }),
        'interact'
      ],
      [
        'a start that is not redirect',
        () => ({
          ...withAccess(outgoingAccess(system) as Record<string, unknown>),
          interact: { start: ['app'] }
        }),
        'interact.start'
      ],
      [
        'a finish without nonce',
        () => ({
          ...withAccess(outgoingAccess(system) as Record<string, unknown>),
          interact: { start: ['redirect'], finish: { method: 'redirect', uri: 'http://localhost:2/' } }
        }),
        'interact.finish.nonce'
      ],
      [
        'a finish that runs script',
        () => ({
          ...withAccess(outgoingAccess(system) as Record<string, unknown>),
          interact: {
            start: ['redirect'],
            finish: { method: 'redirect', uri: 'javascript:alert(1)', nonce: 'n' }
          }
        }),
        'interact.finish.uri'
      ],
      [
        'a receiver that is no incoming payment',
        () => withLimits({ receiver: 'http://localhost:2/bob' }),
        'limits.receiver'
      ],
      ['a malformed interval', () => withLimits({ interval: 'R/yesterday/P1M' }), 'limits.interval'],
      ['an empty interval', () => withLimits({ interval: 'R/2026-01-01T00:00:00Z/PT0S' }), 'limits.interval'],
      [
        'an interval of zero repetitions',
        () => withLimits({ interval: 'R0/2026-01-01T00:00:00Z/P1M' }),
        'limits.interval'
      ],
      [
        'a debitAmount in another asset',
        () => withLimits({ debitAmount: { value: '1', assetCode: 'EUR', assetScale: 2 } }),
        'limits.debitAmount'
      ],
      [
        'a debitAmount of another scale',
        () => withLimits({ debitAmount: { value: '1', assetCode: 'USD', assetScale: 3 } }),
        'limits.debitAmount'
      ],
      [
        'a scale out of range',
        () => withLimits({ receiveAmount: { value: '1', assetCode: 'USD', assetScale: 256 } }),
        'limits.receiveAmount.assetScale'
      ],
      [
        'limits on an incoming payment',
        () => withAccess({ type: 'incoming-payment', actions: ['create'], limits: {} }),
        'limits'
      ],
      [
        'two subjects',
        () =>
          grantRequest({
            subject: {
              sub_ids: [
                { id: 'http://a', format: 'uri' },
                { id: 'http://b', format: 'uri' }
              ]
            },
            interact: { start: ['redirect'] }
          }),
        'subject.sub_ids'
      ],
      ['NUL in a text', () => grantRequest({ client: 'http://localhost/\u0000' }), 'client']
    ]
    it.each(cases)('%s is refused with the field named', async (_what, body, field) => {
      const answer = await system.shop.request('POST', system.authServerUrl, { body: body() })
      await expectRefusal(answer, 400, field)
      expect(['invalid_request', 'invalid_client']).toContain(answer.at('error.code'))
    })

    it.each(MALFORMED_VALUES.map((value) => [value]))('a limit of %j is refused', async (value) => {
      for (const name of ['debitAmount', 'receiveAmount']) {
        const answer = await system.shop.request('POST', system.authServerUrl, {
          body: withLimits({ [name]: { value, ...USD } })
        })
        await expectRefusal(answer, 400, `limits.${name}.value`)
      }
    })

    it.each([['{'], ['[]'], ['null'], ['"text"'], [''], ['{"client":']])(
      'the body %j is refused',
      async (body) => {
        await expectRefusal(await system.shop.request('POST', system.authServerUrl, { body }), 400)
      }
    )
  })

  describe('of the resource server', () => {
    const post = (path: string, accessToken: string, body: unknown): Promise<Answer> =>
      system.shop.request('POST', `${system.resourceServerUrl}${path}`, { accessToken, body })

    const incomingCases: readonly Case[] = [
      ['an unknown field', { other: 1 }, 400, 'other'],
      ['a wallet address that is no URL', { walletAddress: 'bob' }, 400, 'walletAddress'],
      ['an expiresAt that is no date', { expiresAt: 'tomorrow' }, 400, 'expiresAt'],
      ['an expiresAt in the past', { expiresAt: '2001-01-01T00:00:00Z' }, 400, 'expiresAt'],
      ['an expiresAt without offset', { expiresAt: '2099-01-01T00:00:00' }, 400, 'expiresAt'],
      ['metadata that is a list', { metadata: [] }, 400, 'metadata'],
      ['metadata without end', { metadata: { note: 'x'.repeat(60_000) } }, 400, 'metadata'],
      ['metadata with NUL', { metadata: { note: '\u0000' } }, 400, 'metadata'],
      [
        'an amount in another asset',
        { incomingAmount: { value: '1', assetCode: 'EUR', assetScale: 2 } },
        400,
        'incomingAmount'
      ],
      [
        'an amount of another scale',
        { incomingAmount: { value: '1', assetCode: 'USD', assetScale: 9 } },
        400,
        'incomingAmount'
      ],
      ['an amount without asset', { incomingAmount: { value: '1' } }, 400, 'incomingAmount.assetCode'],
      ['an amount of nothing', { incomingAmount: { value: '0', ...USD } }, 400, 'incomingAmount']
    ]
    it.each(incomingCases)('an incoming payment with %s is refused', async (_what, body, status, field) => {
      const complete = { walletAddress: system.walletAddresses.bob, ...(body as object) }
      await expectRefusal(await post('/incoming-payments', incomingToken, complete), status, field)
    })

    it.each(MALFORMED_VALUES.map((value) => [value]))('an incomingAmount of %j is refused', async (value) => {
      const body = { walletAddress: system.walletAddresses.bob, incomingAmount: { value, ...USD } }
      await expectRefusal(await post('/incoming-payments', incomingToken, body), 400, 'incomingAmount.value')
    })

    const quoteCases: readonly [what: string, changes: () => object, field: string][] = [
      ['an unknown field', () => ({ other: 1 }), 'other'],
      ['no method', () => ({ method: undefined }), 'method'],
      ['an unknown method', () => ({ method: 'card' }), 'method'],
      ['no receiver', () => ({ receiver: undefined }), 'receiver'],
      [
        'a receiver that is no incoming payment',
        () => ({ receiver: system.walletAddresses.bob }),
        'receiver'
      ],
      [
        'a receiver that does not exist',
        () => ({ receiver: `${system.resourceServerUrl}/incoming-payments/${randomUUID()}` }),
        'invalid receiver'
      ],
      ['both amounts', () => ({ debitAmount: amount(1), receiveAmount: amount(1) }), 'Amount'],
      ['a debitAmount in another asset', () => ({ debitAmount: amount(1, 'EUR') }), 'debitAmount'],
      ['a receiveAmount in another asset', () => ({ receiveAmount: amount(1, 'EUR') }), 'receiveAmount'],
      ['a debitAmount of nothing', () => ({ debitAmount: amount(0) }), 'receive amount']
    ]
    it.each(quoteCases)('a quote with %s is refused', async (_what, changes, field) => {
      const body = { walletAddress: system.walletAddresses.alice, receiver, method: 'ilp', ...changes() }
      await expectRefusal(await post('/quotes', quoteToken, body), 400, field)
    })

    const outgoingCases: readonly [what: string, changes: () => object, field: string][] = [
      ['an unknown field', () => ({ other: 1 }), 'other'],
      ['no form at all', () => ({ incomingPayment: undefined, debitAmount: undefined }), ''],
      [
        'both forms at once',
        () => ({ quoteId: `${system.resourceServerUrl}/quotes/${randomUUID()}` }),
        'incomingPayment'
      ],
      [
        'a quote that does not exist',
        () => ({
          incomingPayment: undefined,
          debitAmount: undefined,
          quoteId: `${system.resourceServerUrl}/quotes/${randomUUID()}`
        }),
        'invalid quote'
      ],
      [
        'a quote that is no URL',
        () => ({ incomingPayment: undefined, debitAmount: undefined, quoteId: 'quote' }),
        'quote'
      ],
      ['no debitAmount', () => ({ debitAmount: undefined }), 'debitAmount'],
      ['a debitAmount in another asset', () => ({ debitAmount: amount(1, 'EUR') }), 'debitAmount'],
      [
        'a receiver that does not exist',
        () => ({ incomingPayment: `${system.resourceServerUrl}/incoming-payments/${randomUUID()}` }),
        'invalid receiver'
      ],
      ['metadata that is a text', () => ({ metadata: 'note' }), 'metadata'],
      ['a debitAmount of nothing', () => ({ debitAmount: amount(0) }), 'receive amount']
    ]
    it.each(outgoingCases)('an outgoing payment with %s is refused', async (_what, changes, field) => {
      const body = {
        walletAddress: system.walletAddresses.alice,
        incomingPayment: receiver,
        debitAmount: amount(100),
        ...changes()
      }
      await expectRefusal(await post('/outgoing-payments', payToken, body), 400, field)
    })

    it('a receiver whose provider does not answer may be tried again', async () => {
      const order = { walletAddress: system.walletAddresses.alice }
      const elsewhere = `http://localhost:2/incoming-payments/${randomUUID()}`
      const quoted = await post('/quotes', quoteToken, { ...order, receiver: elsewhere, method: 'ilp' })
      await expectRefusal(quoted, 503, 'temporarily unavailable')
      const payment = { ...order, incomingPayment: elsewhere, debitAmount: amount(100) }
      await expectRefusal(await post('/outgoing-payments', payToken, payment), 503, 'temporarily unavailable')
    })

    it.each(MALFORMED_VALUES.map((value) => [value]))('a debitAmount of %j is refused', async (value) => {
      const body = {
        walletAddress: system.walletAddresses.alice,
        incomingPayment: receiver,
        debitAmount: { value, ...USD }
      }
      await expectRefusal(await post('/outgoing-payments', payToken, body), 400, 'debitAmount.value')
    })

    it.each([
      ['first=0', 'first'],
      ['first=101', 'first'],
      ['first=x', 'first'],
      ['last=5', 'cursor'],
      ['first=1&last=1', 'last'],
      ['cursor=nonsense', 'cursor'],
      ['first=1&first=2', 'first']
    ])('a list with %s is refused', async (query, field) => {
      const walletAddress = encodeURIComponent(system.walletAddresses.bob)
      const url = `${system.resourceServerUrl}/incoming-payments?wallet-address=${walletAddress}&${query}`
      await expectRefusal(await system.shop.request('GET', url, { accessToken: incomingToken }), 400, field)
    })

    it('a list without wallet-address, or of one that is not hosted here, is refused', async () => {
      const url = `${system.resourceServerUrl}/incoming-payments`
      const options: SignedRequestOptions = { accessToken: incomingToken }
      await expectRefusal(await system.shop.request('GET', url, options), 400, 'wallet-address')
    })

    it.each(['nonsense', randomUUID(), '%00', 'a'.repeat(5000), '..%2f..%2f', '%F0%28%8C%28'])(
      'the id %j is not found',
      async (id) => {
        for (const [collection, accessToken] of [
          ['incoming-payments', incomingToken],
          ['quotes', quoteToken],
          ['outgoing-payments', payToken]
        ] as const) {
          const answer = await system.shop.request('GET', `${system.resourceServerUrl}/${collection}/${id}`, {
            accessToken
          })
          expect([400, 404]).toContain(answer.status)
          await expectRefusal(answer, answer.status)
        }
      }
    )
  })

  describe('of tokens and signatures', () => {
    const targets = (): readonly [method: string, url: string, token: string][] => [
      ['GET', receiver, incomingToken],
      ['POST', `${system.resourceServerUrl}/incoming-payments`, incomingToken],
      ['POST', `${system.resourceServerUrl}/outgoing-payments`, payToken]
    ]

    it('a token that is missing, malformed or unknown is refused with 401 and the address of the auth server', async () => {
      for (const [method, url] of targets()) {
        for (const authorization of [
          'GNAP',
          'GNAP ',
          'Bearer abc',
          'GNAP a b',
          'GNAP unknown',
          `GNAP ${'x'.repeat(3000)}`
        ]) {
          const answer = await system.shop.request(method, url, {
            headers: { authorization },
            ...(method === 'POST' ? { body: {} } : {})
          })
          await expectRefusal(answer, 401)
          expect(answer.at('error.description')).toBe('Invalid Token')
          expect(answer.headers.get('www-authenticate')).toBe(`GNAP as_uri=${system.authServerUrl}`)
        }
      }
    })

    const tamperings: readonly [what: string, options: () => SignedRequestOptions][] = [
      ['no signature', () => ({ unsigned: true })],
      ['another key', () => ({ signature: { keyId: 'other' } })],
      [
        'a signature of long ago',
        () => ({ signature: { createdSeconds: Math.floor(system.clock.now() / 1000) - 301 } })
      ],
      [
        'a signature of the future',
        () => ({ signature: { createdSeconds: Math.floor(system.clock.now() / 1000) + 31 } })
      ],
      [
        'a signature that expired',
        () => ({ signature: { expiresSeconds: Math.floor(system.clock.now() / 1000) - 1 } })
      ],
      ['a wrong tag', () => ({ signature: { tag: 'other' } })],
      ['too little covered', () => ({ signature: { components: ['@method'] } })],
      [
        'garbage for a signature',
        () => ({
          tamper: (headers) => {
            headers['signature'] = 'sig1=:AAAA:'
          }
        })
      ],
      [
        'garbage for a signature input',
        () => ({
          tamper: (headers) => {
            headers['signature-input'] = '(((('
          }
        })
      ],
      [
        'a changed body digest',
        () => ({
          tamper: (headers) => {
            headers['content-digest'] = 'sha-256=:AAAA:'
          }
        })
      ]
    ]
    it.each(tamperings)('%s is refused with 401', async (what, options) => {
      for (const [method, url, accessToken] of targets()) {
        if (method === 'GET' && what === 'a changed body digest') continue
        const answer = await system.shop.request(method, url, {
          accessToken,
          ...(method === 'POST' ? { body: {} } : {}),
          ...options()
        })
        await expectRefusal(answer, 401)
        expect(answer.textAt('error.description')).toMatch(/^Signature validation error/)
      }
      const answer = await system.shop.request('POST', system.authServerUrl, {
        body: {
          client: system.shop.walletAddress,
          access_token: { access: [{ type: 'quote', actions: ['create'] }] }
        },
        ...options()
      })
      // A key that the client does not publish cannot be resolved, so the signature cannot be verified.
      await expectRefusal(answer, what === 'another key' ? 400 : 401)
      expect(answer.at('error.code')).toBe('invalid_client')
    })

    it('another client with its own valid signature cannot use a token', async () => {
      for (const [method, url, accessToken] of targets()) {
        const answer = await system.market.request(method, url, {
          accessToken,
          ...(method === 'POST' ? { body: {} } : {})
        })
        await expectRefusal(answer, 401)
      }
    })

    it('a client whose keys cannot be resolved is refused', async () => {
      const answer = await system.shop.request('POST', system.authServerUrl, {
        body: {
          client: `${system.resourceServerUrl}/nobody`,
          access_token: { access: [{ type: 'quote', actions: ['create'] }] }
        }
      })
      await expectRefusal(answer, 400)
      expect(answer.at('error.code')).toBe('invalid_client')
    })
  })

  it('of interactions and continuations is refused and changes nothing', async () => {
    const grant = await requestInteractiveGrant(system, system.shop, [outgoingAccess(system)])
    before = await digests()
    for (const path of [
      'interact/nonsense/nonsense',
      `interact/${randomUUID()}/x`,
      'interact/%00/x/finish'
    ]) {
      const answer = await send('GET', `${system.authServerUrl}${path}`)
      expect(answer.status).toBeGreaterThanOrEqual(400)
      expect(answer.status).toBeLessThan(500)
    }
    for (const id of ['nonsense', randomUUID(), '%00']) {
      const answer = await system.shop.request('POST', `${system.authServerUrl}continue/${id}`, {
        accessToken: grant.continuationToken
      })
      await expectRefusal(answer, 401)
      expect(answer.at('error.code')).toBe('invalid_continuation')
    }
    for (const body of ['{', { interact_ref: 5 }, []]) {
      system.clock.advanceSeconds(6)
      const answer = await system.shop.request('POST', grant.continueUri, {
        accessToken: grant.continuationToken,
        body
      })
      await expectRefusal(answer, 400)
    }
  })
})
