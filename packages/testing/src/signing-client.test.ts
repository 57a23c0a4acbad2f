import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ContractViolation, takeContractViolations } from './contract-keeper.js'
import { createSigningClient, send } from './signing-client.js'
import { createTestKey } from './test-key.js'

/** Answers every request with an invalid quote. */
describe('a client of the tests', () => {
  let server: Server
  let url: string
  beforeAll(async () => {
    server = createServer((_request, response) => {
      response.writeHead(201, { 'content-type': 'application/json' }).end('{"id":7}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/quotes`
  })
  afterAll(() => {
    server.close()
    server.closeAllConnections()
  })

  it('refuses any answer that violates the contract, signed or not', async () => {
    const client = createSigningClient(createTestKey('key'))
    await expect(send('POST', url)).rejects.toThrow(ContractViolation)
    await expect(client.request('POST', url, { body: {} })).rejects.toThrow(/\/id must be string/)
    expect(takeContractViolations().join()).toContain('/id must be string')
    expect(takeContractViolations()).toEqual([])
  })

  it('accepts it where a test says why', async () => {
    const outsideContract = { reason: 'a server of this test answers' }
    expect((await send('POST', url, {}, undefined, outsideContract)).at('id')).toBe(7)
    const client = createSigningClient(createTestKey('key'))
    expect((await client.request('POST', url, { outsideContract })).status).toBe(201)
    expect(takeContractViolations()).toEqual([])
  })
})
