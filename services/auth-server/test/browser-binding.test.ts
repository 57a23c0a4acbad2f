import type { Answer } from '@open-payments-server/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  CONSENT_PAGE_URL,
  PUBLIC_URL,
  startTestAuthServer,
  type TestAuthServer,
  type TestClient
} from './auth-server.js'
import {
  acceptWithFinishCode,
  continueGrant,
  decide,
  finishUrl,
  type PendingGrant,
  requestPendingGrant,
  startInBrowser
} from './grants.js'
import { whileLocked } from './support/while-locked.js'

const startedElsewhere = {
  status: 403,
  body: {
    error: { code: 'invalid_interaction', description: 'the interaction was started in another browser' }
  }
}
const invalidSession = {
  status: 401,
  body: { error: { code: 'invalid_request', description: 'invalid session' } }
}

let auth: TestAuthServer
let shop: TestClient

beforeAll(async () => {
  auth = await startTestAuthServer()
  shop = auth.createClient('shop')
})
afterAll(() => auth.stop())

const start = (grant: PendingGrant, cookie?: string): Promise<Answer> =>
  auth.send('GET', grant.redirect, cookie === undefined ? {} : { cookie })
const finish = (grant: PendingGrant, cookie: string, code?: string): Promise<Answer> =>
  auth.send('GET', finishUrl(grant, code), { cookie })
const queryOf = (answer: Answer) =>
  Object.fromEntries(new URL(answer.headers.get('location') ?? '').searchParams)
const stateOf = async (grant: PendingGrant): Promise<unknown> => {
  const path = `/grant/${grant.interactionId}/${grant.nonce}`
  return (await auth.identityProvider('GET', path)).at('state')
}

describe('an interaction belongs to the browser that opens it first', () => {
  it('which may open it again, and finish it; another may do neither, and changes nothing', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const cookie = await startInBrowser(auth, grant)
    for (const theirs of [undefined, 'interaction=', `interaction=${'x'.repeat(43)}`]) {
      const answer = await start(grant, theirs)
      expect(answer).toMatchObject(startedElsewhere)
      expect([answer.headers.get('set-cookie'), answer.headers.get('location')]).toEqual([null, null])
      expect(await finish(grant, theirs ?? '')).toMatchObject(invalidSession)
    }
    const again = await start(grant, cookie)
    expect(again.status).toBe(303)
    expect(again.headers.get('location')).toMatch(CONSENT_PAGE_URL)
    expect(again.headers.get('set-cookie')).toBeNull()
    expect(await stateOf(grant)).toBe('PENDING')
    await decide(auth, grant, 'accept')
    expect(queryOf(await finish(grant, cookie))).toHaveProperty('interact_ref')
  })

  it('however many open it at once', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const lock = {
      text: 'select 1 from interaction where id = $1 for update',
      values: [grant.interactionId],
      waiting: 6
    }
    const answers = await whileLocked(auth.database, lock, () =>
      Promise.all(Array.from({ length: 6 }, () => start(grant)))
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 403, 403, 403, 403, 403])
    const cookies = answers.flatMap((answer) => answer.headers.get('set-cookie') ?? [])
    expect(cookies).toHaveLength(1)
    const [cookie = ''] = (cookies[0] ?? '').split(';')
    expect((await start(grant, cookie)).status).toBe(303)
  })

  it('with a cookie of its own, of which the database has only the hash', async () => {
    const [one, other] = [await requestPendingGrant(auth, shop), await requestPendingGrant(auth, shop)]
    const cookies = [await startInBrowser(auth, one), await startInBrowser(auth, other)]
    expect(new Set(cookies).size).toBe(2)
    const code = await acceptWithFinishCode(auth, one)
    const kept = JSON.stringify(await auth.database.query('select * from interaction'))
    for (const secret of [...cookies.map((cookie) => cookie.replace('interaction=', '')), code]) {
      expect(secret).toMatch(/^[\w-]{43}$/)
      expect(kept).not.toContain(secret)
    }
  })

  it('but not to a program that only looks where the link leads', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const looked = await auth.send('HEAD', grant.redirect)
    expect([looked.status, looked.headers.get('set-cookie')]).toEqual([303, null])
    const cookie = await startInBrowser(auth, grant)
    await decide(auth, grant, 'accept')
    expect(queryOf(await finish(grant, cookie))).toHaveProperty('interact_ref')
  })

  it('also when it is over: others are not told what became of it', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const cookie = await startInBrowser(auth, grant)
    await decide(auth, grant, 'reject')
    expect(await start(grant)).toMatchObject(startedElsewhere)
    expect(queryOf(await start(grant, cookie))).toEqual({ order: '7', result: 'grant_rejected' })
  })

  it('and cannot be finished by anyone before one opened it', async () => {
    const grant = await requestPendingGrant(auth, shop)
    await decide(auth, grant, 'accept')
    expect(await finish(grant, 'interaction=')).toMatchObject(invalidSession)
    expect(await auth.send('GET', finishUrl(grant))).toMatchObject(invalidSession)
  })

  it('beside others that it opened: two in one browser, interleaved', async () => {
    const [one, other] = [await requestPendingGrant(auth, shop), await requestPendingGrant(auth, shop)]
    const [cookieOfOne, cookieOfOther] = [await startInBrowser(auth, one), await startInBrowser(auth, other)]
    const codeOfOther = await acceptWithFinishCode(auth, other)
    const codeOfOne = await acceptWithFinishCode(auth, one)
    expect(await finish(one, cookieOfOther, codeOfOne)).toMatchObject(invalidSession)
    expect(await finish(one, cookieOfOne, codeOfOther)).toMatchObject(invalidSession)
    expect(queryOf(await finish(one, cookieOfOne, codeOfOne))).toHaveProperty('interact_ref')
    expect(queryOf(await finish(other, cookieOfOther, codeOfOther))).toHaveProperty('interact_ref')
  })
})

describe('an approval with a finish code', () => {
  it('is finished neither by who began without agreeing, nor by who agreed without beginning', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const cookieOfAttacker = await startInBrowser(auth, grant)
    const codeOfVictim = await acceptWithFinishCode(auth, grant)
    const refused = [
      await finish(grant, cookieOfAttacker),
      await finish(grant, cookieOfAttacker, ''),
      await finish(grant, cookieOfAttacker, codeOfVictim.slice(1)),
      await finish(grant, cookieOfAttacker, `${codeOfVictim}x`),
      await auth.send('GET', `${finishUrl(grant)}?code=x&code=${codeOfVictim}`, { cookie: cookieOfAttacker }),
      await finish(grant, '', codeOfVictim),
      await finish(grant, 'interaction=x', codeOfVictim)
    ]
    for (const answer of refused) {
      expect(answer).toMatchObject(invalidSession)
      expect(answer.headers.get('location')).toBeNull()
      expect(answer.text).toBe(refused[0]?.text)
    }
    auth.clock.advanceSeconds(5)
    expect(await continueGrant(shop, grant)).toMatchObject({ body: { error: { code: 'request_denied' } } })
  })

  it('is finished by the browser that has both, also after others failed, and issued once', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const cookie = await startInBrowser(auth, grant)
    const code = await acceptWithFinishCode(auth, grant)
    expect(await finish(grant, cookie, 'wrong')).toMatchObject(invalidSession)
    const reference = queryOf(await finish(grant, cookie, code)).interact_ref
    auth.clock.advanceSeconds(5)
    expect((await continueGrant(shop, grant, reference)).status).toBe(200)
    expect(await continueGrant(shop, grant, reference)).toMatchObject({
      status: 401,
      body: { error: { code: 'request_denied' } }
    })
  })

  it('cannot be had twice, or for a grant that was declined', async () => {
    const [accepted, declined] = [
      await requestPendingGrant(auth, shop),
      await requestPendingGrant(auth, shop)
    ]
    await acceptWithFinishCode(auth, accepted)
    expect(await decide(auth, accepted, 'accept', { finishCode: true })).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_interaction' } }
    })
    const cookie = await startInBrowser(auth, declined)
    await decide(auth, declined, 'reject', { finishCode: true })
    expect(queryOf(await finish(declined, cookie))).toMatchObject({ result: 'grant_rejected' })
  })

  it.each([{}, { finishCode: false }])('is not asked for by %j: the answer is empty', async (body) => {
    const grant = await requestPendingGrant(auth, shop)
    const cookie = await startInBrowser(auth, grant)
    expect(await decide(auth, grant, 'accept', body)).toMatchObject({ status: 202, text: '' })
    expect(queryOf(await finish(grant, cookie))).toHaveProperty('interact_ref')
  })

  it('is asked for with true alone: 400 names the field, and nothing is decided', async () => {
    const grant = await requestPendingGrant(auth, shop)
    for (const finishCode of ['true', 1, null, {}]) {
      expect(await decide(auth, grant, 'accept', { finishCode })).toMatchObject({
        status: 400,
        body: { error: { code: 'invalid_request', details: { finishCode: expect.any(String) } } }
      })
    }
    expect(await stateOf(grant)).toBe('PENDING')
  })

  it('must be asked for where the settings say so: 400 says what to send, and nothing is decided', async () => {
    const strict = await startTestAuthServer({ INTERACTION_FINISH_CODE_REQUIRED: 'true' })
    try {
      const grant = await requestPendingGrant(strict, strict.createClient('shop'))
      for (const body of [undefined, {}, { finishCode: false }]) {
        expect(await decide(strict, grant, 'accept', body)).toMatchObject({
          status: 400,
          body: {
            error: {
              code: 'invalid_request',
              details: { finishCode: expect.stringContaining('send JSON { "finishCode": true }') }
            }
          }
        })
      }
      const cookie = await startInBrowser(strict, grant)
      const code = await acceptWithFinishCode(strict, grant)
      expect((await strict.send('GET', finishUrl(grant, code), { cookie })).status).toBe(303)
    } finally {
      await strict.stop()
    }
  })
})

describe('the link, opened again when it is over', () => {
  const AS_BROWSERS_DO = 'text/html,*/*;q=0.8'
  const startAgain = async (grant: PendingGrant, cookie: string) => {
    const [program, person] = [
      await start(grant, cookie),
      await auth.send('GET', grant.redirect, { cookie, accept: AS_BROWSERS_DO })
    ]
    expect(person.headers.get('location')).toBe(program.headers.get('location'))
    const location = program.headers.get('location')
    if (location !== null) return { status: program.status, location }
    const title = /<h1>(.*)<\/h1>/.exec(person.text)?.[1]
    return { status: program.status, end: program.at('error.details.interaction'), title }
  }
  const unknown = { status: 403, end: undefined, title: 'This request cannot be opened here' }
  const consentPage = { status: 303, location: expect.stringMatching(`^${CONSENT_PAGE_URL}`) }
  /** What a browser still has of a cookie after some seconds. */
  const keptAfter = (seconds: number, answer: Answer): string => {
    const header = answer.headers.get('set-cookie') ?? ''
    const [, maxAge = '0'] = /; Max-Age=(\d+);/.exec(header) ?? []
    return seconds < Number(maxAge) ? (header.split(';')[0] ?? '') : ''
  }

  it('says what was decided to the browser in which it was, and to no other', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const began = await startInBrowser(auth, grant)
    const code = await acceptWithFinishCode(auth, grant)
    // A browser that began but did not consent is told nothing, neither before nor after: while it was open, the link led there too.
    expect(await startAgain(grant, began)).toEqual(consentPage)
    const finished = await finish(grant, began, code)
    const [decided = ''] = (finished.headers.get('set-cookie') ?? '').split(';')
    const accepted = { status: 403, end: 'accepted', title: 'You accepted this request already' }
    expect(await startAgain(grant, decided)).toEqual(accepted)
    for (const theirs of ['', `interaction=.${code}`, `x${decided}`]) {
      expect(await startAgain(grant, theirs)).toEqual(unknown)
    }
    for (const without of [began, `${began}.`, `${decided}x`]) {
      expect(await startAgain(grant, without)).toEqual(consentPage)
    }
    auth.clock.advanceSeconds(5)
    expect((await continueGrant(shop, grant, queryOf(finished).interact_ref)).status).toBe(200)
    expect(await startAgain(grant, decided)).toEqual(accepted)
  })

  it('keeps the code of the approval from everything but its own path, and scripts', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const began = await startInBrowser(auth, grant)
    const finished = await finish(grant, began, await acceptWithFinishCode(auth, grant))
    expect(finished.headers.get('set-cookie')).toMatch(
      new RegExp(
        `^${began}\\.[\\w-]{43}; Max-Age=87600; Path=/interact/${grant.interactionId}; HttpOnly; SameSite=Lax$`
      )
    )
    const [decided = ''] = (finished.headers.get('set-cookie') ?? '').split(';')
    const again = await finish(grant, decided)
    expect([again.headers.get('location'), again.headers.get('set-cookie')]).toEqual([
      finished.headers.get('location'),
      null
    ])
  })

  it.each([
    ['accept', 'accepted', 'You accepted this request already'],
    ['reject', 'declined', 'You declined this request already']
  ] as const)('says so where the client did not ask to be told: %s', async (choice, end, title) => {
    const grant = await requestPendingGrant(auth, shop, { finish: false })
    const cookie = await startInBrowser(auth, grant)
    await decide(auth, grant, choice)
    expect(await startAgain(grant, cookie)).toEqual({ status: 403, end, title })
    expect(await startAgain(grant, '')).toEqual(unknown)
  })

  it('says that nobody answered in time, and after a cancellation nothing', async () => {
    const [expired, cancelled] = [
      await requestPendingGrant(auth, shop, { finish: false }),
      await requestPendingGrant(auth, shop, { finish: false })
    ]
    const cookies = [await startInBrowser(auth, expired), await startInBrowser(auth, cancelled)]
    await shop.request('DELETE', cancelled.continueUri, { accessToken: cancelled.continuationToken })
    auth.clock.advanceSeconds(600)
    const end = { status: 403, end: 'expired', title: 'This request has expired' }
    expect(await startAgain(expired, cookies[0] ?? '')).toEqual(end)
    expect(await startAgain(expired, '')).toEqual(unknown)
    expect(await startAgain(cancelled, cookies[1] ?? '')).toEqual(consentPage)
  })

  // As long as the consent page remembers the browser that decided. The browser could finish for 1200 s.
  it.each([1_199, 1_201, 86_399])('still says what was decided %d s later', async (seconds) => {
    const grant = await requestPendingGrant(auth, shop)
    const began = await start(grant)
    const code = await acceptWithFinishCode(auth, grant)
    const finished = await finish(grant, keptAfter(0, began), code)
    auth.clock.advanceSeconds(5)
    expect((await continueGrant(shop, grant, queryOf(finished).interact_ref)).status).toBe(200)
    auth.clock.advanceSeconds(seconds)
    expect(await startAgain(grant, keptAfter(seconds, finished))).toEqual({
      status: 403,
      end: 'accepted',
      title: 'You accepted this request already'
    })
  })

  it.each([599, 1_201, 86_399])(
    'knows the browser that accepted and never came back, %d s later',
    async (seconds) => {
      const [notified, polling] = [
        await requestPendingGrant(auth, shop),
        await requestPendingGrant(auth, shop, { finish: false })
      ]
      const answers = [await start(notified), await start(polling)]
      for (const grant of [notified, polling]) await acceptWithFinishCode(auth, grant)
      auth.clock.advanceSeconds(seconds)
      const [cookie = '', pollingCookie = ''] = answers.map((answer) => keptAfter(seconds, answer))
      expect(await startAgain(polling, pollingCookie)).toEqual(consentPage)
      const tooLate = { status: 303, location: expect.stringContaining('result=grant_invalid') }
      expect(await startAgain(notified, cookie)).toEqual(seconds < 600 ? consentPage : tooLate)
    }
  )
})

describe('an approval must be continued in time', () => {
  const LIFETIME_SECONDS = 600
  const tooLate = { status: 401, body: { error: { code: 'request_denied' } } }

  it.each([
    ['just in time', LIFETIME_SECONDS - 1, { status: 200 }],
    ['too late', LIFETIME_SECONDS, tooLate]
  ])('with its reference: %s', async (_when, seconds, expected) => {
    const grant = await requestPendingGrant(auth, shop)
    const cookie = await startInBrowser(auth, grant)
    auth.clock.advanceSeconds(300)
    await decide(auth, grant, 'accept')
    const reference = queryOf(await finish(grant, cookie)).interact_ref
    auth.clock.advanceSeconds(seconds)
    expect(await continueGrant(shop, grant, reference)).toMatchObject(expected)
  })

  it('by a client that polls, too', async () => {
    const [inTime, late] = [
      await requestPendingGrant(auth, shop, { finish: false }),
      await requestPendingGrant(auth, shop, { finish: false })
    ]
    await decide(auth, inTime, 'accept')
    await decide(auth, late, 'accept')
    auth.clock.advanceSeconds(LIFETIME_SECONDS - 1)
    expect((await continueGrant(shop, inTime)).status).toBe(200)
    auth.clock.advanceSeconds(1)
    expect(await continueGrant(shop, late)).toMatchObject(tooLate)
  })

  it('and no reference is given out that came too late: result=grant_invalid', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const cookie = await startInBrowser(auth, grant)
    await decide(auth, grant, 'accept')
    auth.clock.advanceSeconds(LIFETIME_SECONDS)
    expect(queryOf(await finish(grant, cookie))).toEqual({ order: '7', result: 'grant_invalid' })
  })
})

describe('a browser is sent on', () => {
  it('with 303 and to the letter of what the client asked for, whatever became of the interaction', async () => {
    const uri = 'https://Shop.test:443/a/../b%2f?next=/x@y:z&list[]=1&flag&sig=~x(1)*;'
    const ends: [change: (grant: PendingGrant) => Promise<unknown>, appended: RegExp][] = [
      [(grant) => decide(auth, grant, 'accept'), /^&hash=[\w%.-]+&interact_ref=[\w-]{43}$/],
      [(grant) => decide(auth, grant, 'reject'), /^&result=grant_rejected$/],
      [() => Promise.resolve(), /^&result=grant_invalid$/]
    ]
    for (const [change, appended] of ends) {
      const grant = await requestPendingGrant(auth, shop, { finish: { uri } })
      const started = await start(grant)
      expect(started.status).toBe(303)
      const [cookie = ''] = (started.headers.get('set-cookie') ?? '').split(';')
      await change(grant)
      const finished = await finish(grant, cookie)
      const location = finished.headers.get('location') ?? ''
      expect(finished.status).toBe(303)
      expect(location.slice(0, uri.length)).toBe(uri)
      expect(location.slice(uri.length)).toMatch(appended)
    }
  })
})

describe('who cannot go on', () => {
  const AS_BROWSERS_DO = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  const ask = (url: string, accept: string): Promise<Answer> => auth.send('GET', url, { accept })

  it.each<[string, (grant: PendingGrant) => string, number, string]>([
    ['another browser than the first', (grant) => grant.redirect, 403, 'This request cannot be opened here'],
    [
      'a link that is not complete',
      (grant) => `${PUBLIC_URL}interact/${grant.nonce}/x`,
      404,
      'This link does not work'
    ],
    ['a link that cannot be read', () => `${PUBLIC_URL}interact/%ff/x`, 404, 'This link does not work'],
    ['no cookie at the end', finishUrl, 401, 'This browser cannot finish the request']
  ])('reads why, as a person: %s', async (_why, urlOf, status, title) => {
    const grant = await requestPendingGrant(auth, shop)
    await startInBrowser(auth, grant)
    const response = await ask(urlOf(grant), AS_BROWSERS_DO)
    const { text } = response
    expect(response.status).toBe(status)
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(text).toContain(`<h1>${title}</h1>`)
    expect(text).not.toMatch(/<script|<a |<form| on[a-z]+=/i)
    const policy = response.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
    expect(policy).not.toContain('script-src')
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  it('is sent to no client by a link that was over when it was first opened, as a person', async () => {
    const grant = await requestPendingGrant(auth, shop)
    await shop.request('DELETE', grant.continueUri, { accessToken: grant.continuationToken })
    const page = await ask(grant.redirect, AS_BROWSERS_DO)
    expect([page.status, page.headers.get('location')]).toEqual([403, null])
    expect(page.text).toContain('<h1>This request cannot be opened here</h1>')
    expect((await ask(grant.redirect, '*/*')).status).toBe(303)
  })

  it('is sent back to the client by a link that is over in the browser that began', async () => {
    const grant = await requestPendingGrant(auth, shop)
    const cookie = await startInBrowser(auth, grant)
    await shop.request('DELETE', grant.continueUri, { accessToken: grant.continuationToken })
    const answer = await auth.send('GET', grant.redirect, { cookie, accept: AS_BROWSERS_DO })
    expect([answer.status, answer.headers.get('location')]).toEqual([
      303,
      expect.stringContaining('result=grant_invalid')
    ])
  })

  it.each(['*/*', 'application/json', 'application/json, text/html;q=0.9', ''])(
    'reads JSON as a program that accepts "%s"',
    async (accept) => {
      const response = await ask(`${PUBLIC_URL}interact/1/x`, accept)
      expect(response.headers.get('content-type')).toMatch(/^application\/json/)
      expect(response.body).toMatchObject({ error: { code: 'unknown_interaction' } })
    }
  )

  it('reads JSON everywhere else, whatever it accepts', async () => {
    const response = await ask(`${PUBLIC_URL}continue/1`, AS_BROWSERS_DO)
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  })

  it.each([
    ['accept', 'You accepted this request', 'The site that asked you goes on by itself.'],
    ['reject', 'You declined this request', 'Nothing was agreed to.']
  ] as const)(
    'is told what was decided by %s where the client did not ask for the browser: as a page, or as text',
    async (choice, title, sentence) => {
      const grant = await requestPendingGrant(auth, shop, { finish: false })
      const cookie = await startInBrowser(auth, grant)
      await decide(auth, grant, choice)
      const answer = (accept: string) => auth.send('GET', finishUrl(grant), { cookie, accept })
      const text = `${title}. ${sentence} You can close this page.`
      expect(await answer('*/*')).toMatchObject({ status: 202, text })
      const page = await answer(AS_BROWSERS_DO)
      expect([page.status, page.headers.get('content-type')]).toEqual([202, 'text/html; charset=utf-8'])
      expect(page.text).toContain(`<h1>${title}</h1><p>${sentence}</p>`)
    }
  )
})
