import { describe, expect, it } from '@jest/globals'
import { readClientNames } from '../src/client-names.js'

describe('the names of a client', () => {
  it('are the URIs and DNS names of its certificate, and nothing else in it', () => {
    expect(
      readClientNames(
        'DNS:Resource-Server.internal, URI:spiffe://wallet.test/Resource, IP Address:10.0.0.1, email:a@b.test'
      )
    ).toEqual(['resource-server.internal', 'spiffe://wallet.test/Resource'])
  })

  it('are empty without a certificate or such names', () => {
    expect(readClientNames(undefined)).toEqual([])
    expect(readClientNames('')).toEqual([])
    expect(readClientNames('IP Address:127.0.0.1')).toEqual([])
  })

  it('are never parts of another name', () => {
    // As Node writes a DNS name that holds a comma: `one.test, URI:spiffe://wallet.test/operator`.
    expect(readClientNames(String.raw`DNS:"one.test\u002c URI:spiffe://wallet.test/operator"`)).toEqual([])
    expect(readClientNames('othername:URI:spiffe://wallet.test/operator')).toEqual([])
    expect(readClientNames('DNS:spiffe://wallet.test/operator')).toEqual([])
    expect(readClientNames('URI:operator.internal')).toEqual([])
  })
})
