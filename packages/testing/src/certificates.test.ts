import { X509Certificate } from 'node:crypto'
import { expect, it } from '@jest/globals'
import { createTestAuthority } from './certificates.js'

it('certificates of an authority bear its signature, their names and their times', async () => {
  const authority = await createTestAuthority('one')
  const other = await createTestAuthority('one')
  const { certificate } = await authority.issue({
    commonName: 'shop',
    dnsNames: ['shop.test'],
    ipAddresses: ['127.0.0.1'],
    uris: ['spiffe://wallet.test/shop'],
    notAfter: new Date('2100-01-01T00:00:00Z')
  })
  const read = new X509Certificate(certificate)
  expect(read.verify(new X509Certificate(authority.certificate).publicKey)).toBe(true)
  expect(read.verify(new X509Certificate(other.certificate).publicKey)).toBe(false)
  expect(read.subject).toBe('CN=shop')
  expect(read.subjectAltName).toBe('DNS:shop.test, IP Address:127.0.0.1, URI:spiffe://wallet.test/shop')
  expect(new Date(read.validTo)).toEqual(new Date('2100-01-01T00:00:00Z'))
})
