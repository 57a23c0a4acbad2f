import { describe, expect, it } from '@jest/globals'
import { z } from 'zod'
import { grpcListenerSettings } from './shared-settings.js'

describe('the settings of a gRPC listener', () => {
  it('close connections within five minutes by default, so that a new replica gets calls', () => {
    const settings = z.object(grpcListenerSettings({ host: 'Address.', port: 'Port.' })).parse({})
    expect(settings.GRPC_CONNECTION_AGE_SECONDS).toBeLessThanOrEqual(300)
  })
})
