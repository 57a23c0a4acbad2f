import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { callUnary, createClient, status } from '@open-payments-server/grpc-transport'
import { auth as contract } from '@open-payments-server/proto'
import { createLogger, systemRandom } from '@open-payments-server/runtime'
import { startGrpcServices } from '@open-payments-server/service-kit/grpc'
import { PrismaPg } from '@prisma/adapter-pg'
import { createPool } from '@open-payments-server/database'
import { makeClientConstructor, type ServiceDefinition } from '@grpc/grpc-js'
import { createTestTelling } from '../../test/support/test-telling.js'
import { BELIEVE_PAGES } from '../../test/support/believe-pages.js'
import { COUNT_NOTHING } from '../../test/support/count-nothing.js'
import { GrpcFixture, refusalOf, release } from '../../test/support/grpc-fixture.js'
import { openEveryOperator } from '../../test/support/open-operators.js'
import { createGrpcServices } from '../compose/grpc-services.js'
import { PrismaClient } from '../generated/prisma/client.js'
import { createTokenReader } from '../modules/tokens/index.js'

const logger = createLogger({ service: 'test', level: 'silent' })
let auth: GrpcFixture

beforeAll(async () => {
  auth = await GrpcFixture.start()
})
afterAll(() => auth.stop())

/** Calls a method by its path alone, with no message, and answers the code. */
function codeOf(address: string, path: string): Promise<string> {
  const [, service = '', method = ''] = path.split('/')
  const definition: ServiceDefinition = {
    [method]: {
      path,
      requestStream: false,
      responseStream: false,
      requestSerialize: () => Buffer.alloc(0),
      requestDeserialize: (bytes: Buffer) => bytes,
      responseSerialize: (bytes: Buffer) => bytes,
      responseDeserialize: (bytes: Buffer) => bytes
    }
  }
  const channel = { target: address, deadlineMs: 5_000, retriesMax: 0, messageBytesMax: 1_000 }
  const client = createClient(makeClientConstructor(definition, service), channel)
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      path,
      () => Buffer.alloc(0),
      (bytes: Buffer) => bytes,
      {},
      (error) => {
        client.close()
        resolve(status[error?.code ?? status.OK])
      }
    )
  })
}

describe('the gRPC server of the auth server', () => {
  it('answers health checks', async () => {
    expect(await codeOf(auth.address, '/grpc.health.v1.Health/Check')).toBe('OK')
  })

  it('describes itself where that is switched on, and not otherwise', async () => {
    const reflection = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo'
    const silent = await startGrpcServices({
      config: {
        GRPC_HOST: '127.0.0.1',
        GRPC_PORT: 0,
        GRPC_REFLECTION: false,
        GRPC_CONNECTION_AGE_SECONDS: 180
      },
      services: [],
      logger
    })
    expect(await codeOf(silent.address, reflection)).toBe('UNIMPLEMENTED')
    expect(await codeOf(auth.address, reflection)).not.toBe('UNIMPLEMENTED')
    await silent.stop(1_000)
  })

  it('serves every method of the contract', async () => {
    const services = [
      contract.IntrospectionServiceService,
      contract.GrantLimitsServiceService,
      contract.GrantOperatorServiceService
    ]
    const paths = services
      .flatMap((service) => Object.values(service))
      .filter((method) => !method.responseStream)
      .map((method) => method.path)
    expect(paths).toHaveLength(16)
    for (const path of paths)
      expect([path, await codeOf(auth.address, path)]).not.toEqual([path, 'UNIMPLEMENTED'])
  })

  it('refuses a call without a deadline', async () => {
    const code = await new Promise((resolve) => {
      auth.limits.end({ ends: [release(auth.newId())] }, (error) => {
        resolve(status[error?.code ?? status.OK])
      })
    })
    expect(code).toBe('INVALID_ARGUMENT')
  })

  it('is UNAVAILABLE, without saying why, when the database cannot be reached', async () => {
    const nowhere = createPool({
      url: 'postgresql://127.0.0.1:1/nowhere',
      connectionsMax: 2,
      applicationName: 'auth-server-test',
      statementTimeoutMs: 1_000,
      connectTimeoutMs: 1_000
    })
    const unreachable = new PrismaClient({ adapter: new PrismaPg(nowhere) })
    const cut = await startGrpcServices({
      config: {
        GRPC_HOST: '127.0.0.1',
        GRPC_PORT: 0,
        GRPC_REFLECTION: false,
        GRPC_CONNECTION_AGE_SECONDS: 180
      },
      services: createGrpcServices({
        tokens: createTokenReader({ database: unreachable }),
        database: unreachable,
        patientDatabase: unreachable,
        clock: auth.clock,
        logger,
        revocations: auth.bus,
        counters: COUNT_NOTHING,
        directory: { findKey: () => Promise.resolve(undefined) },
        random: systemRandom,
        onEventsAppended: () => undefined,
        telling: createTestTelling(unreachable, logger),
        ...BELIEVE_PAGES,
        operators: openEveryOperator(auth.clock),
        config: { OPERATOR_PROPOSAL_HOURS: 24 }
      }),
      logger
    })
    const channel = { target: cut.address, deadlineMs: 5_000, retriesMax: 0, messageBytesMax: 1_000 }
    const introspection = createClient(contract.IntrospectionServiceClient, channel)
    const operator = createClient(contract.GrantOperatorServiceClient, channel)
    const limits = createClient(contract.GrantLimitsServiceClient, channel)
    const once = { idempotent: false }
    const refusals = await Promise.all([
      callUnary(introspection, 'introspect', { accessToken: 'x', keyId: '' }, once).catch(refusalOf),
      callUnary(operator, 'revokeGrant', { grantId: auth.newId() }, once).catch(refusalOf),
      callUnary(operator, 'auditLimits', {}, once).catch(refusalOf),
      callUnary(limits, 'reserve', { reservations: [auth.payment('x')] }, once).catch(refusalOf),
      callUnary(limits, 'end', { ends: [release(auth.newId())] }, once).catch(refusalOf)
    ])
    expect(refusals).toEqual(refusals.map(() => ({ error: 'UNAVAILABLE' })))
    for (const client of [introspection, operator, limits]) client.close()
    await cut.stop(1_000)
    await nowhere.end()
  })
})
