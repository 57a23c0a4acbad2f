import type { Answer } from '@open-payments-server/testing'
import fc from 'fast-check'
import { bodies } from '../generators/json.js'
import { encodeLeniently, listQueries } from '../generators/pages.js'
import {
  continuations,
  grantRequests,
  incomingPayments,
  outgoingPayments,
  quotes
} from '../generators/requests.js'
import { anyText, mutated } from '../generators/text.js'
import { BODY_BYTES_MAX } from '../targets/bodies.js'
import { ACCEPTED, type AnyTarget, mustHold, target } from '../target.js'
import { checkAnswer } from './answers.js'
import { staysHere } from './stay-here.js'
import type { World } from './world.js'

/** What a client asks for with a body, and where. */
interface Creation {
  readonly url: string
  readonly accessToken: string | undefined
  readonly values: fc.Arbitrary<unknown>
}

function creations({ system, places, tokens, pending }: World): Creation[] {
  const { authServerUrl, resourceServerUrl } = system
  return [
    { url: authServerUrl, accessToken: undefined, values: grantRequests(places) },
    { url: pending.continueUri, accessToken: pending.continuationToken, values: continuations },
    {
      url: `${resourceServerUrl}/incoming-payments`,
      accessToken: tokens['incoming-payment'],
      values: incomingPayments(places)
    },
    { url: `${resourceServerUrl}/quotes`, accessToken: tokens.quote, values: quotes(places) },
    {
      url: `${resourceServerUrl}/outgoing-payments`,
      accessToken: tokens['outgoing-payment'],
      values: outgoingPayments(places)
    }
  ]
}

/** The texts that a client can sign as a header: of printable ASCII. */
function sendable(texts: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return texts.map((text) => text.replace(/[^\t\x20-\x7e]/g, '').trim())
}

interface SignedBody {
  readonly url: string
  readonly accessToken: string | undefined
  readonly body: Buffer
  readonly headers: Readonly<Record<string, string>>
}

function signedBodies(world: World): fc.Arbitrary<SignedBody> {
  const idempotencyKey = fc.oneof(
    { weight: 2, arbitrary: fc.uuid() },
    { weight: 1, arbitrary: sendable(anyText) }
  )
  const headers = fc
    .record({
      'content-type': fc.oneof(
        { weight: 20, arbitrary: fc.constant('application/json') },
        { weight: 1, arbitrary: sendable(mutated(fc.constant('application/json'))) }
      ),
      'idempotency-key': fc.option(idempotencyKey, { nil: undefined, freq: 1 })
    })
    .map((some) => Object.fromEntries(Object.entries(some).filter(([, value]) => value !== undefined)))
  return fc.oneof(
    ...creations(world).map(({ url, accessToken, values }) => {
      const changed = fc
        .tuple(bodies(values, BODY_BYTES_MAX), values)
        .map(([body, proper]) => (staysHere(body, world.ports) ? body : Buffer.from(JSON.stringify(proper))))
      return fc.record({
        url: fc.constant(url),
        accessToken: fc.constant(accessToken),
        body: changed,
        headers
      })
    })
  ) as fc.Arbitrary<SignedBody>
}

function check(answer: Answer, method: string): string {
  const { status, headers, text } = answer
  const outcome = checkAnswer(
    { status, header: (name) => headers.get(name) ?? undefined, body: text },
    { method }
  )
  return status < 300 ? ACCEPTED : outcome
}

/** What clients send that both services know: it reaches everything behind the check of signatures. */
export function signedTargets(world: () => World): readonly AnyTarget[] {
  return [
    target({
      name: 'signed bodies over HTTP',
      share: 90,
      acceptedMin: 0.1,
      cases: () => signedBodies(world()),
      async attack({ url, ...options }) {
        const answer = await world().system.shop.request('POST', url, options)
        mustHold(
          answer.status !== 401 ||
            url === world().pending.continueUri ||
            url === world().system.authServerUrl,
          'a request that is signed is known'
        )
        return check(answer, 'POST')
      }
    }),
    target({
      name: 'signed reads over HTTP',
      share: 20,
      acceptedMin: 0.05,
      cases: () => reads(world()),
      attack: async ({ url, accessToken }) =>
        check(await world().system.shop.request('GET', url, { accessToken }), 'GET')
    })
  ]
}

/** Reads of lists and of single resources. */
function reads({ system, places, tokens }: World): fc.Arbitrary<{ url: string; accessToken: string }> {
  const base = system.resourceServerUrl
  const [, payer, payee] = places.walletAddresses
  const segment = fc.oneof(
    fc.constantFrom(
      ...[...places.receivers, ...places.quotes].map((url) => url.slice(url.lastIndexOf('/') + 1))
    ),
    fc.uuid(),
    mutated(fc.uuid()).map(encodeLeniently)
  )
  const list = (name: string, wallets: readonly [string, ...string[]]): fc.Arbitrary<string> =>
    listQueries(wallets).map((query) => `${base}/${name}?${query.replace(/[\p{Surrogate}#]/gu, '')}`)
  const single = (name: string): fc.Arbitrary<string> => segment.map((id) => `${base}/${name}/${id}`)
  const withToken = (accessToken: string, ...urls: fc.Arbitrary<string>[]) =>
    fc.oneof(...urls).map((url) => ({ url, accessToken }))
  return fc.oneof(
    withToken(tokens['incoming-payment'], list('incoming-payments', [payee]), single('incoming-payments')),
    withToken(tokens['outgoing-payment'], list('outgoing-payments', [payer]), single('outgoing-payments')),
    withToken(tokens.quote, single('quotes'))
  )
}
