import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  CLIENT,
  type ConsentSetting,
  payingAccess,
  SECRET,
  startConsentSetting
} from '../../test/fake-auth-server.js'
import { createConsentPage } from './app.js'
import { createIdentityProvider } from './identity-provider.js'

let setting: ConsentSetting

beforeAll(async () => {
  setting = await startConsentSetting()
})
afterAll(() => setting.stop())
beforeEach(() => {
  setting.broken = undefined
  setting.logged.length = 0
  setting.interactions.clear()
  setting.interactions.set('one', { state: 'PENDING', details: { access: [payingAccess], client: CLIENT } })
})

interface Shown {
  status: number
  headers: Headers
  text: string
  cookie: string
  proof: string
}

async function show(url: string, cookie?: string): Promise<Shown> {
  const response = await fetch(url, { headers: cookie === undefined ? {} : { cookie } })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text,
    cookie: response.headers.get('set-cookie')?.split(';')[0] ?? cookie ?? '',
    proof: /name="proof" value="([^"]+)"/.exec(text)?.[1] ?? ''
  }
}

function choose(fields: Record<string, string>, headers: Record<string, string>): Promise<Response> {
  return fetch(setting.pageUrl, {
    method: 'POST',
    body: new URLSearchParams({ interactId: 'one', nonce: 'n0nce', choice: 'accept', ...fields }),
    headers,
    redirect: 'manual'
  })
}

/** The cookies that a browser sends after an answer, if it had sent one. */
function cookiesAfter(response: Response, cookie: string): string {
  const given = response.headers.getSetCookie().map((line) => line.split(';')[0] ?? '')
  return [cookie, ...given].join('; ')
}

const stateOf = (id: string): string | undefined => setting.interactions.get(id)?.state

describe('the consent page', () => {
  it('says who asks, for what, how much, how often and from which wallet', async () => {
    const { status, text } = await show(setting.consentUrl('one'))
    expect(status).toBe(200)
    for (const words of [
      'Corner Shop',
      'shop.example',
      '/pay',
      '25.00 USD',
      'every month',
      '12 times',
      '/alice'
    ]) {
      expect(text).toContain(words)
    }
  })

  it('says whose consent it is', async () => {
    setting.interactions.set('whose', {
      state: 'PENDING',
      details: { access: [payingAccess], walletAddress: 'https://wallet.example/alice-of-the-api' }
    })
    const { text } = await show(setting.consentUrl('whose'))
    expect(text).toContain('Wallet that is asked')
    expect(text).toContain('<strong>wallet.example</strong>/alice-of-the-api')
    expect((await show(setting.consentUrl('one'))).text).not.toContain('Wallet that is asked')
  })

  it('has no script, cannot be framed and is not cached', async () => {
    const { headers, text } = await show(setting.consentUrl('one'))
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
    expect(policy).not.toContain('script-src')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
    expect(headers.get('set-cookie')).toMatch(/HttpOnly; SameSite=Lax/)
    expect(text).not.toMatch(/<script|style=| on[a-z]+=/i)
  })

  it.each([
    ['accept', 'APPROVED'],
    ['reject', 'DENIED']
  ])('records %s and sends the browser on to the auth server', async (choice, state) => {
    const { cookie, proof } = await show(setting.consentUrl('one'))
    const response = await choose({ proof, choice }, { cookie })
    expect(response.status).toBe(303)
    expect(stateOf('one')).toBe(state)
    const { finishCode } = setting.interactions.get('one') ?? {}
    expect(finishCode === undefined).toBe(choice === 'reject')
    const code = finishCode === undefined ? '' : `?code=${finishCode}`
    expect(response.headers.get('location')).toBe(`${setting.authServer}interact/one/n0nce/finish${code}`)
  })

  it('escapes all untrusted text', async () => {
    const evil = `"><script>alert('1')</script>`
    setting.interactions.set('evil', {
      state: 'PENDING',
      details: { access: [{ ...payingAccess, type: evil, actions: [evil], identifier: evil }] }
    })
    const { text } = await show(setting.consentUrl('evil', { clientName: evil, clientUri: evil }))
    expect(text).toContain('&lt;script&gt;')
    expect(text).not.toContain('<script')
  })

  it('shows a name quoted, on one line, truncated, and without bidirectional control', async () => {
    const clientName = `Your bank\u202e\u0000\n\u200bsays: ${'x'.repeat(500)}`
    const { text } = await show(setting.consentUrl('one', { clientName }))
    const shown = /“<bdi>([^<]*)<\/bdi>”/.exec(text)?.[1] ?? ''
    expect(shown).toMatch(/^Your bank says: x+…$/)
    expect(shown.length).toBeLessThanOrEqual(60)
    expect(text).toContain('Anyone can choose any name')
  })

  it('trusts the auth server, not the link, for the name of the client', async () => {
    const { text } = await show(
      setting.consentUrl('one', { clientUri: 'https://bank.example/', clientName: 'Bank' })
    )
    expect(text).toContain('<strong>shop.example')
    expect(text).not.toContain('bank.example')
    expect(text).not.toContain('Bank')
    expect(text).toContain('Someone without a name')
  })

  it('shows the name that the auth server knows, if any', async () => {
    setting.interactions.set('named', {
      state: 'PENDING',
      details: { access: [payingAccess], client: CLIENT, clientName: 'The Real Shop' }
    })
    const { text } = await show(setting.consentUrl('named', { clientName: 'Bank' }))
    expect(text).toContain('The Real Shop')
    expect(text).not.toContain('Bank')
  })

  it('shows international host names in punycode', async () => {
    setting.interactions.set('idn', { state: 'PENDING', details: { access: [] } })
    const { text } = await show(setting.consentUrl('idn', { clientUri: 'https://аррle.example/' }))
    expect(text).toContain('<strong>xn--')
  })
})

describe('a choice is refused and changes nothing', () => {
  it('without the cookie of the page', async () => {
    const { proof } = await show(setting.consentUrl('one'))
    expect((await choose({ proof }, {})).status).toBe(403)
    expect(stateOf('one')).toBe('PENDING')
  })

  it('with the proof of another browser, or a forged one', async () => {
    const [mine, theirs] = [await show(setting.consentUrl('one')), await show(setting.consentUrl('one'))]
    for (const proof of [theirs.proof, '', 'x'.repeat(43), 'ü']) {
      expect((await choose({ proof }, { cookie: mine.cookie })).status).toBe(403)
    }
    expect(stateOf('one')).toBe('PENDING')
  })

  it('with a proof of another interaction of the same browser', async () => {
    setting.interactions.set('two', { state: 'PENDING', details: { access: [payingAccess] } })
    const { cookie, proof } = await show(setting.consentUrl('two'))
    expect((await choose({ proof }, { cookie })).status).toBe(403)
    expect((await choose({ proof, interactId: 'two', nonce: 'other' }, { cookie })).status).toBe(403)
    expect([stateOf('one'), stateOf('two')]).toEqual(['PENDING', 'PENDING'])
  })

  it.each<Record<string, string>>([
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
    { origin: 'https://evil.example' },
    { origin: 'http://localhost' }
  ])('when another site sent it, by %j', async (headers) => {
    const { cookie, proof } = await show(setting.consentUrl('one'))
    expect((await choose({ proof }, { cookie, ...headers })).status).toBe(403)
    expect(stateOf('one')).toBe('PENDING')
  })

  it.each([
    ['no choice', { choice: '' }, 400],
    ['another choice', { choice: 'perhaps' }, 400],
    ['an id that is a path', { interactId: '../x' }, 400],
    ['too much', { padding: 'x'.repeat(5000) }, 413]
  ])('with %s', async (_what, fields, status) => {
    const { cookie, proof } = await show(setting.consentUrl('one'))
    const response = await choose({ proof, ...fields }, { cookie })
    expect(response.status).toBe(status)
    expect(response.headers.get('content-type')).toContain('text/html')
    expect(stateOf('one')).toBe('PENDING')
  })
})

describe('a friendly page is shown', () => {
  it('keeps the forms of other tabs working', async () => {
    const first = await show(setting.consentUrl('one'))
    setting.interactions.set('two', { state: 'PENDING', details: { access: [payingAccess] } })
    await show(setting.consentUrl('two'), first.cookie)
    expect((await choose({ proof: first.proof }, { cookie: first.cookie })).status).toBe(303)
  })

  it('for an unknown interaction', async () => {
    const { status, text } = await show(setting.consentUrl('none'))
    expect(status).toBe(404)
    expect(text).toContain('This request is over')
  })

  it.each([
    ['reject', 'You declined this request already', true],
    ['accept', 'You accepted this request already', false]
  ])(
    'for the browser that decided: %s, with the way back from a refusal alone',
    async (choice, title, leadsBack) => {
      const { cookie, proof } = await show(setting.consentUrl('one'))
      const decided = cookiesAfter(await choose({ proof, choice }, { cookie }), cookie)
      const { status, text } = await show(setting.consentUrl('one'), decided)
      expect(status).toBe(409)
      expect(text).toContain(`<h1>${title}</h1>`)
      expect(text.includes('/interact/one/n0nce/finish')).toBe(leadsBack)
    }
  )

  it('for every other browser, without the decision', async () => {
    const mine = await show(setting.consentUrl('one'))
    setting.interactions.set('two', { state: 'PENDING', details: { access: [payingAccess] } })
    const other = await show(setting.consentUrl('two'))
    const ofTwo = cookiesAfter(
      await choose({ proof: other.proof, interactId: 'two' }, { cookie: other.cookie }),
      other.cookie
    )
    const decided = cookiesAfter(await choose({ proof: mine.proof }, { cookie: mine.cookie }), mine.cookie)
    const [, decision = ''] = decided.split('; ')
    const planted = [
      undefined,
      other.cookie,
      decision,
      `${other.cookie}; ${decision}`,
      ofTwo.replace('_two=', '_one='),
      `${mine.cookie}; open_payments_consent_one=${mine.proof}`
    ]
    const texts = new Set<string>()
    for (const state of ['APPROVED', 'DENIED'] as const) {
      setting.interactions.set('one', { state, details: { access: [payingAccess] } })
      for (const cookie of planted) {
        const { status, text } = await show(setting.consentUrl('one'), cookie)
        expect(status).toBe(410)
        texts.add(text)
      }
    }
    expect(texts.size).toBe(1)
    expect([...texts][0]).toContain('This request is over')
    expect([...texts][0]).not.toContain('/finish')
  })

  it('for an expired request, without a way to accept', async () => {
    const details = { access: [payingAccess], expiresAt: '2026-01-01T12:00:00.000Z' }
    setting.interactions.set('late', { state: 'PENDING', details })
    const { status, text } = await show(setting.consentUrl('late'))
    expect(status).toBe(410)
    expect(text).toContain('This request has expired')
    expect(text).not.toMatch(/<form|<button|Accept</)
  })

  it('in place of an open page when it expires, without a script', async () => {
    const expiresAt = new Date(Date.now() + 90_000)
    setting.interactions.set('soon', {
      state: 'PENDING',
      details: { access: [payingAccess], expiresAt: expiresAt.toISOString() }
    })
    const { status, headers, text } = await show(setting.consentUrl('soon'))
    expect(status).toBe(200)
    expect(Number(headers.get('refresh'))).toBeGreaterThan(60)
    expect(Number(headers.get('refresh'))).toBeLessThanOrEqual(90)
    expect(text).toContain(`${expiresAt.toISOString().slice(11, 16)} UTC`)
  })

  it('when the choice comes a second time', async () => {
    const { cookie, proof } = await show(setting.consentUrl('one'))
    const decided = cookiesAfter(await choose({ proof }, { cookie }), cookie)
    const second = await choose({ proof, choice: 'reject' }, { cookie: decided })
    expect(second.status).toBe(409)
    expect(await second.text()).toContain('You accepted this request already')
    expect((await choose({ proof, choice: 'reject' }, { cookie })).status).toBe(410)
    expect(stateOf('one')).toBe('APPROVED')
  })

  it.each(['', '?interactId=one', '?interactId=one&nonce=..%2Fx', '?interactId=one&interactId=two&nonce=n'])(
    'for the incomplete link "%s"',
    async (query) => {
      expect((await show(`${setting.pageUrl}${query}`)).status).toBe(400)
    }
  )

  it.each([500, 401])('when the auth server answers %d, with the reason in the log alone', async (status) => {
    setting.broken = status
    const shown = await show(setting.consentUrl('one'))
    expect(shown.status).toBe(503)
    expect(shown.text).not.toContain(String(status))
    expect(setting.logged[0]?.message).toContain(String(status))
  })

  it('when the auth server answers an acceptance without a finish code', async () => {
    const { cookie, proof } = await show(setting.consentUrl('one'))
    setting.broken = 202
    expect((await choose({ proof }, { cookie })).status).toBe(503)
    expect(setting.logged[0]?.message).toContain('not one of the API')
  })

  it('for every other address', async () => {
    expect((await show(`${setting.pageUrl}admin`)).status).toBe(404)
  })
})

describe('over https', () => {
  it('the cookie cannot be planted by another host or over http', async () => {
    const app = createConsentPage({
      identityProvider: createIdentityProvider({ api: setting.authServer.slice(0, -1), secret: SECRET }),
      authServer: setting.authServer,
      publicUrl: 'https://wallet.example/consent',
      log: (error) => setting.logged.push(error)
    })
    const server = createServer(app as RequestListener).listen(0, '127.0.0.1')
    try {
      await once(server, 'listening')
      const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`
      const response = await fetch(setting.consentUrl('one').replace(setting.pageUrl, url))
      expect(response.headers.get('set-cookie')).toMatch(
        /^__Host-open_payments_consent=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/
      )
    } finally {
      server.close()
      server.closeAllConnections()
    }
  })
})
