import { describe, expect, it } from '@jest/globals'
import { z } from 'zod'
import { findPlaintext, findUnsafeGrpcListener, loadConfiguration, setting } from './index.js'
import type { GuardedGrpcListener } from './unsafe-grpc.js'

const SAFE: GuardedGrpcListener = {
  ENVIRONMENT: 'production',
  GRPC_HOST: '0.0.0.0',
  GRPC_TLS_CERTIFICATE_FILE: 'tls.crt',
  GRPC_TLS_KEY_FILE: 'tls.key',
  GRPC_TLS_CLIENT_CA_FILE: 'ca.crt'
}
const PLAIN = {
  GRPC_TLS_CERTIFICATE_FILE: undefined,
  GRPC_TLS_KEY_FILE: undefined,
  GRPC_TLS_CLIENT_CA_FILE: undefined
}
const CLIENTS = ['operator.test']

const find = (changed: Partial<GuardedGrpcListener> & { CLIENTS?: readonly string[] | undefined }) =>
  findUnsafeGrpcListener<'CLIENTS'>({ ...SAFE, CLIENTS, ...changed }, ['CLIENTS'])

describe('a gRPC listener', () => {
  it('is safe with TLS and named clients, and without TLS on loopback in development', () => {
    expect(find({})).toEqual([])
    expect(
      find({ ...PLAIN, ENVIRONMENT: 'development', GRPC_HOST: '127.0.0.1', CLIENTS: undefined })
    ).toEqual([])
    expect(find({ ENVIRONMENT: 'development', CLIENTS: undefined })).toEqual([])
  })

  it('is unsafe without TLS in production, even on loopback: every setting is named', () => {
    for (const GRPC_HOST of ['0.0.0.0', '127.0.0.1']) {
      expect(find({ ...PLAIN, GRPC_HOST })).toEqual([
        expect.stringMatching(/^GRPC_TLS_CERTIFICATE_FILE: must be set in production/),
        expect.stringMatching(/^GRPC_TLS_KEY_FILE: must be set in production/),
        expect.stringMatching(/^GRPC_TLS_CLIENT_CA_FILE: must be set in production/)
      ])
    }
  })

  it.each(['0.0.0.0', '::', '10.0.0.1', 'auth-server'])(
    'is unsafe in plain text on %s in development',
    (GRPC_HOST) => {
      expect(find({ ...PLAIN, ENVIRONMENT: 'development', GRPC_HOST })).toEqual([
        expect.stringMatching(
          /^GRPC_HOST: must be an address of this machine, such as 127\.0\.0\.1, unless GRPC_TLS/
        )
      ])
    }
  )

  it.each(['GRPC_TLS_CERTIFICATE_FILE', 'GRPC_TLS_KEY_FILE', 'GRPC_TLS_CLIENT_CA_FILE'] as const)(
    'is given by halves without %s',
    (name) => {
      for (const ENVIRONMENT of ['production', 'development'] as const) {
        expect(find({ ENVIRONMENT, [name]: undefined })).toEqual([
          expect.stringMatching(new RegExp(`^${name}: must be set when GRPC_TLS_\\w+_FILE is$`))
        ])
      }
    }
  )

  it('needs named clients in production', () => {
    expect(find({ CLIENTS: undefined })).toEqual([
      expect.stringMatching(/^CLIENTS: must be set in production/)
    ])
  })
})

describe('a gRPC connection', () => {
  it('leaves this machine only with TLS', () => {
    const place = { setting: 'TARGET', isLoopback: false }
    const config = { ENVIRONMENT: 'development', CA: undefined } as const
    expect(findPlaintext<'CA'>(config, ['CA'], place)).toEqual([
      expect.stringMatching(/^TARGET: must be an address of this machine.* unless CA are set/)
    ])
    expect(findPlaintext<'CA'>(config, ['CA'], { ...place, isLoopback: true })).toEqual([])
  })
})

describe('names of clients', () => {
  const schema = z.object({
    CLIENTS: setting.clientNames({ description: 'Clients.', example: 'operator.test' })
  })

  it('are URIs as they are and DNS names in lower case', () => {
    const { CLIENTS: names } = loadConfiguration(schema, {
      CLIENTS: 'spiffe://wallet.test/Operator, Operator.Test'
    })
    expect(names).toEqual(['spiffe://wallet.test/Operator', 'operator.test'])
  })

  it.each([
    '',
    ' ',
    'operator.test,',
    '*.wallet.test',
    'CN=operator',
    'two words',
    'spiffe://a"b',
    'spiffe://a/*',
    'a;b'
  ])('are not %j', (CLIENTS) => {
    expect(() => loadConfiguration(schema, { CLIENTS })).toThrow(/CLIENTS: expected URIs and DNS names/)
  })
})
