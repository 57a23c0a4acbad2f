import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { callUnary } from '@open-payments-server/grpc-transport'
import { createLogger, type Logger } from '@open-payments-server/runtime'
import { type RunningTelemetry, startTelemetry } from '@open-payments-server/service-kit/telemetry'
import { send } from '@open-payments-server/testing'
import { consentedToken, outgoingAccess } from '../src/consent.js'
import { allSettled, amount, createReceiver, eventually } from '../src/payments.js'
import { startSystem, type System } from '../src/system.js'
import { type CollectedSpan, startTraceCollector, type TraceCollector } from '../src/trace-collector.js'

const KIND = { server: 2, client: 3 }
const RESERVE = 'openpayments.auth.v1.GrantLimitsService/Reserve'

/** Both services share the telemetry of this process, but the context between them still travels over the wire. */
describe('a trace', () => {
  const lines: Record<string, unknown>[] = []
  let collector: TraceCollector
  let telemetry: RunningTelemetry
  let system: System

  const loggerOf = (service: string): Logger =>
    createLogger({
      service,
      level: 'info',
      destination: { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) }
    })

  beforeAll(async () => {
    collector = await startTraceCollector()
    telemetry = startTelemetry(
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
        OTEL_TRACES_SAMPLER_ARG: 1,
        TRACE_CONTEXT_TRUSTED: false
      },
      { service: 'acceptance', version: '0.0.0', logger: loggerOf('acceptance') }
    )
    system = await startSystem({ loggerOf, resource: { PROCESSING_POLL_SECONDS: '3600' } })
  })
  afterAll(async () => {
    await system.stop()
    await telemetry.stop()
    await collector.stop()
  })

  /** Pays within a trace that the client began. */
  async function pay(traceparent: string): Promise<{ token: string; secrets: string[] }> {
    const receiver = await createReceiver(system, system.shop)
    const { token } = await consentedToken(system, system.shop, [outgoingAccess(system)])
    const sent: string[] = []
    const answer = await system.shop.request('POST', `${system.resourceServerUrl}/outgoing-payments`, {
      accessToken: token,
      body: {
        walletAddress: system.walletAddresses.alice,
        incomingPayment: receiver.url,
        debitAmount: amount(500)
      },
      headers: { traceparent, tracestate: 'stranger=1', baggage: 'user=stranger' },
      tamper: (headers) => sent.push(headers.signature ?? '', headers['signature-input'] ?? '')
    })
    expect(answer.status).toBe(201)
    await allSettled(system)
    await telemetry.flush()
    return { token, secrets: [token, receiver.token, ...sent] }
  }

  const childrenOf = (spans: readonly CollectedSpan[], parent: CollectedSpan | undefined): CollectedSpan[] =>
    spans.filter(({ parentSpanId }) => parentSpanId === parent?.spanId)
  const statementsOf = (spans: readonly CollectedSpan[]): CollectedSpan[] =>
    spans.filter(({ attributes }) => attributes['db.system.name'] === 'postgresql')

  it('spans a request, gRPC, and the statements of both services, each under its parent', async () => {
    const [traceId, clientSpanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')]
    await pay(`00-${traceId}-${clientSpanId}-00`)

    const spans = collector.spansOf(traceId)
    const request = spans.find(({ parentSpanId }) => parentSpanId === clientSpanId)
    expect(request).toMatchObject({
      name: 'POST /outgoing-payments',
      kind: KIND.server,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/outgoing-payments',
        'http.response.status_code': 201
      }
    })
    const call = childrenOf(spans, request).find(({ name }) => name === RESERVE)
    expect(call).toMatchObject({ kind: KIND.client, attributes: { 'rpc.response.status_code': 'OK' } })
    const [answered] = childrenOf(spans, call)
    expect(answered).toMatchObject({
      name: RESERVE,
      kind: KIND.server,
      attributes: { 'rpc.response.status_code': 'OK' }
    })
    expect(statementsOf(childrenOf(spans, request)).length).toBeGreaterThan(0)
    expect(statementsOf(childrenOf(spans, answered)).length).toBeGreaterThan(0)
    // Every span has its parent.
    const known = new Set([clientSpanId, ...spans.map(({ spanId }) => spanId)])
    expect(spans.filter(({ parentSpanId }) => !known.has(parentSpanId ?? ''))).toEqual([])
  })

  it('is named in the log lines of both services', async () => {
    const traceId = randomBytes(16).toString('hex')
    await pay(`00-${traceId}-${randomBytes(8).toString('hex')}-01`)
    const told = lines.filter(({ trace_id }) => trace_id === traceId)
    expect(told.map(({ service, msg }) => ({ service, msg }))).toEqual(
      expect.arrayContaining([
        { service: 'resource-server', msg: 'request' },
        { service: 'auth-server', msg: 'call answered' }
      ])
    )
  })

  it('is told with each event that its request caused, by both services', async () => {
    const traceId = randomBytes(16).toString('hex')
    await pay(`00-${traceId}-${randomBytes(8).toString('hex')}-01`)
    const toldBy = async (service: 'auth-server' | 'resource-server') => {
      const listed = { afterCursor: '', types: [], pageSize: 1_000 }
      const { events } = await callUnary(system.events[service], 'listEvents', listed, { idempotent: true })
      return events.filter(({ traceparent }) => traceparent.startsWith(`00-${traceId}-`))
    }
    await eventually('the payment is told of', async () => (await toldBy('resource-server')).length > 0)
    await eventually('the use of its grant is told of', async () => (await toldBy('auth-server')).length > 0)
    const [created] = await toldBy('resource-server')
    expect(created?.type).toBe('outgoing_payment.created')
    expect((await toldBy('auth-server')).map(({ type }) => type)).toContain('grant.used')
    // It leads to a span of the request.
    await telemetry.flush()
    expect(collector.spansOf(traceId).map(({ spanId }) => spanId)).toContain(
      created?.traceparent.split('-')[2]
    )
  })

  it('contains no secret, address or other data of its sender', async () => {
    const traceId = randomBytes(16).toString('hex')
    const { secrets } = await pay(`00-${traceId}-${randomBytes(8).toString('hex')}-01`)
    const received = collector.received.join('\n')
    for (const secret of secrets.filter((one) => one !== '')) expect(received).not.toContain(secret)
    for (const told of ['stranger', 'signature', '/alice', '127.0.0.1', 'GNAP'])
      expect(received).not.toContain(told)
    expect(Object.keys(attributesOf(collector.spansOf(traceId))).sort()).toEqual([
      'db.query.summary',
      'db.system.name',
      'http.request.method',
      'http.response.status_code',
      'http.route',
      'rpc.method',
      'rpc.response.status_code',
      'rpc.retries',
      'rpc.system.name'
    ])
  })

  const attributesOf = (spans: readonly CollectedSpan[]): Record<string, unknown> =>
    Object.assign({}, ...spans.map(({ attributes }) => attributes)) as Record<string, unknown>

  it.each([
    ['is too short', '00-4bf92f3577b34da6-00f067aa0ba902b7-01'],
    ['is all zeros', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`],
    ['is of no version', `ff-${'1'.repeat(32)}-00f067aa0ba902b7-01`],
    ['is sent twice', `00-${'2'.repeat(32)}-00f067aa0ba902b7-01, 00-${'2'.repeat(32)}-00f067aa0ba902b7-01`]
  ])('begins anew where the one that was sent %s', async (_what, traceparent) => {
    const { status } = await send('GET', system.walletAddresses.alice, { traceparent })
    expect(status).toBe(200)
    await telemetry.flush()
    const traceId = traceparent.split('-')[1] ?? ''
    expect(collector.received.join('\n')).not.toContain(`"${traceId}"`)
  })
})
