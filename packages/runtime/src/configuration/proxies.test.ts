import { describe, expect, it } from '@jest/globals'
import { z } from 'zod'
import { ConfigurationError, loadConfiguration, setting } from './index.js'

const schema = z.object({ TRUSTED_PROXIES: setting.proxies({ description: 'Proxies.', example: '1' }) })
const read = (value: string) => loadConfiguration(schema, { TRUSTED_PROXIES: value }).TRUSTED_PROXIES

describe('the setting of proxies', () => {
  it('takes a number or networks', () => {
    expect(read('0')).toBe(0)
    expect(read('10')).toBe(10)
    expect(read('10.0.0.0/8')).toEqual(['10.0.0.0/8'])
    expect(read('192.0.2.1, 2001:db8::/32')).toEqual(['192.0.2.1', '2001:db8::/32'])
  })

  it.each([
    '11',
    '-1',
    'true',
    'loopback',
    '10.0.0.0/33',
    '::1/129',
    // Everybody would be believed.
    '0.0.0.0/0',
    '::/0',
    '10.0.0.0/8,',
    '10.0.0.0/8/8',
    '10.0.0.256',
    'proxy.example'
  ])('refuses %s', (value) => {
    expect(() => read(value)).toThrow(ConfigurationError)
  })
})
