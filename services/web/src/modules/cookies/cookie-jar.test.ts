import { describe, expect, it } from '@jest/globals'
import { CookieJar } from './cookie-jar.js'

describe('cookies', () => {
  it('over https cannot be planted by another host or over http, nor read by scripts', () => {
    const jar = new CookieJar({ listener: 'holder', isSecure: true })
    expect(jar.write('session', 'value', 60)).toBe(
      '__Host-holder-session=value; Max-Age=60; Path=/; HttpOnly; Secure; SameSite=Lax'
    )
    expect(jar.read('holder-session=planted; __Host-holder-session=mine', 'session')).toBe('mine')
    expect(jar.read('holder-session=planted', 'session')).toBeUndefined()
  })

  it('of one listener are none of the other', () => {
    const [holder, console] = ['holder', 'console'].map(
      (listener) => new CookieJar({ listener, isSecure: true })
    )
    const [pair = ''] = holder?.write('session', 'value', 60).split(';') ?? []
    expect([holder?.read(pair, 'session'), console?.read(pair, 'session')]).toEqual(['value', undefined])
    expect(holder?.namesOf(`${pair}; __Host-console-session=other`, 'sess')).toEqual(['session'])
  })
})
