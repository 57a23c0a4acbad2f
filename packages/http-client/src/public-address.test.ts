import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { isPublicAddress } from './public-address.js'

describe('an address on the public internet', () => {
  it.each([
    '1.1.1.1',
    '8.8.8.8',
    '93.184.216.34',
    '172.32.0.1',
    '100.128.0.1',
    '2606:4700:4700::1111',
    '2a00::1'
  ])('may be connected to: %s', (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })
})

describe('an address off the public internet', () => {
  it.each([
    ['unspecified', '0.0.0.0'],
    ['this network', '0.1.2.3'],
    ['loopback', '127.0.0.1'],
    ['loopback, any', '127.255.255.254'],
    ['private, class A', '10.0.0.1'],
    ['private, class B', '172.16.0.1'],
    ['private, end of class B', '172.31.255.255'],
    ['private, class C', '192.168.1.1'],
    ['link-local', '169.254.0.1'],
    ['cloud metadata', '169.254.169.254'],
    ['carrier-grade NAT', '100.64.0.1'],
    ['end of carrier-grade NAT', '100.127.255.255'],
    ['IETF assignments', '192.0.0.8'],
    ['documentation 1', '192.0.2.1'],
    ['documentation 2', '198.51.100.1'],
    ['documentation 3', '203.0.113.1'],
    ['6to4 relay', '192.88.99.1'],
    ['benchmarking', '198.19.255.255'],
    ['multicast', '224.0.0.1'],
    ['multicast, site', '239.255.255.250'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['unspecified', '::'],
    ['loopback', '::1'],
    ['mapped loopback', '::ffff:127.0.0.1'],
    ['mapped loopback, in hexadecimal', '::ffff:7f00:1'],
    ['mapped public', '::ffff:8.8.8.8'],
    ['compatible', '::10.0.0.1'],
    ['compatible public', '::8.8.8.8'],
    ['translated', '::ffff:0:10.0.0.1'],
    ['NAT64', '64:ff9b::10.0.0.1'],
    ['NAT64 to metadata', '64:ff9b::a9fe:a9fe'],
    ['local NAT64', '64:ff9b:1::1'],
    ['6to4', '2002:7f00:1::1'],
    ['Teredo', '2001::1'],
    ['benchmarking', '2001:2::1'],
    ['ORCHID', '2001:20::1'],
    ['documentation', '2001:db8::1'],
    ['new documentation', '3fff::1'],
    ['discard', '100::1'],
    ['segment routing', '5f00::1'],
    ['unique-local', 'fc00::1'],
    ['unique-local, common', 'fd12:3456:789a::1'],
    ['cloud metadata', 'fd00:ec2::254'],
    ['link-local', 'fe80::1'],
    ['link-local with a zone', 'fe80::1%eth0'],
    ['public with a zone', '2606:4700:4700::1111%eth0'],
    ['site-local', 'fec0::1'],
    ['multicast', 'ff02::1']
  ])('is refused (%s): %s', (_, address) => {
    expect(isPublicAddress(address)).toBe(false)
  })

  it.each([
    '',
    'localhost',
    '127.1',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '2130706433',
    '8.8.8.8.',
    '08.8.8.8',
    '1.1.1.1/8'
  ])('is what no address is: %p', (text) => {
    expect(isPublicAddress(text)).toBe(false)
  })

  it('stays refused inside any form of IPv6 that carries it, and so does everything outside 2000::/3', () => {
    const octet = fc.integer({ min: 0, max: 255 })
    fc.assert(
      fc.property(octet, octet, octet, octet, (a, b, c, d) => {
        const hex = [a * 256 + b, c * 256 + d].map((group) => group.toString(16)).join(':')
        for (const form of [
          `::${hex}`,
          `::ffff:${hex}`,
          `::ffff:0:${hex}`,
          `64:ff9b::${hex}`,
          `2002:${hex}::`
        ]) {
          expect(isPublicAddress(form)).toBe(false)
        }
      })
    )
    const group = fc.integer({ min: 0, max: 0xffff })
    const outside = group.filter((first) => first < 0x2000 || first > 0x3fff)
    fc.assert(
      fc.property(outside, fc.array(group, { minLength: 7, maxLength: 7 }), (first, others) => {
        const address = [first, ...others].map((part) => part.toString(16)).join(':')
        expect(isPublicAddress(address)).toBe(false)
      })
    )
  })
})
