import { Refusal } from '@open-payments-server/runtime'
import { parse as parseQuery } from 'node:querystring'
import { isRpcError } from '@open-payments-server/grpc-transport'
import fc from 'fast-check'
import { maxAgeSeconds } from '../../../../packages/http-client/src/max-age.js'
import { createInteractionCookie } from '../../../../services/auth-server/src/domain/interaction-cookie.js'
import { readPageToken, writePageToken } from '../../../../services/auth-server/src/grpc/page-token.js'
import { isSameSecret, parseGnapToken } from '../../../../services/auth-server/src/domain/secrets.js'
import { createAddresses } from '../../../../services/auth-server/src/domain/urls.js'
import { OperationRefused } from '../../../../services/resource-server/src/domain/operation-refused.js'
import { formatCursor, parseListQuery } from '../../../../services/resource-server/src/domain/pagination.js'
import { readIdempotencyKey } from '../../../../services/resource-server/src/domain/payment-identity.js'
import { chooseRepresentation } from '../../../../services/resource-server/src/domain/representation.js'
import { readAccessToken } from '../../../../services/resource-server/src/features/authorize-request/read-access-token.js'
import {
  readTextToken,
  writeTextToken
} from '../../../../services/resource-server/src/domain/operator-pages.js'
import { listQueries, pageTokens } from '../generators/pages.js'
import { anyText, characterOf, grown, mutated, oddPiece } from '../generators/text.js'
import { ACCEPTED, type AnyTarget, mustHold, refusedAs, target } from '../target.js'

/** Longest header section that a listener takes, in bytes. */
const HEADER_BYTES_MAX = 16_384
/** Longest message over gRPC, in bytes. */
const MESSAGE_BYTES_MAX = 4_194_304

const queries = target({
  name: 'queries and cursors of lists',
  share: 300,
  acceptedMin: 0.1,
  cases: listQueries(['https://wallet.example/alice']),
  attack: (query) =>
    refusedAs(
      () => {
        // As express reads queries here.
        const parameters = parseQuery(query)
        const { page } = parseListQuery(parameters)
        mustHold(page.limit >= 1 && page.limit <= 100, 'a page has 1 to 100 items')
        const cursor = page.position === undefined ? undefined : formatCursor(page.position)
        mustHold(cursor === parameters.cursor, 'a cursor has one spelling')
        return ACCEPTED
      },
      (error) => (error instanceof Refusal && error.because === 'invalid-field' ? 'refused' : undefined)
    )
})

const tokens = target({
  name: 'page tokens',
  share: 200,
  acceptedMin: 0.1,
  cases: pageTokens(MESSAGE_BYTES_MAX),
  attack(token) {
    const ofTime = refusedAs(
      () => {
        const end = readPageToken(token)
        const again = readPageToken(writePageToken(end))
        mustHold(
          again.id === end.id && again.createdAt.getTime() === end.createdAt.getTime(),
          'a token says where a page ended'
        )
        return ACCEPTED
      },
      (error) => (isRpcError(error) ? 'refused' : undefined)
    )
    const ofText = refusedAs(
      () => {
        const text = readTextToken({ pageSize: 0, pageToken: token })
        mustHold(
          writeTextToken(text) === token && !text.includes('\0'),
          'a token has one spelling, and can be looked for'
        )
        return ACCEPTED
      },
      (error) => (error instanceof OperationRefused ? 'refused' : undefined)
    )
    return ofTime === ACCEPTED || ofText === ACCEPTED ? ACCEPTED : 'refused'
  }
})

/** A header of one kind: as it should be, changed, and as long as headers may be. */
function header(proper: fc.Arbitrary<string>, ...pieces: string[]): fc.Arbitrary<string> {
  const piece = fc.oneof(fc.constantFrom(...pieces, ' ', '\t'), oddPiece)
  return fc.oneof(
    { weight: 10, arbitrary: proper },
    { weight: 10, arbitrary: mutated(proper, piece) },
    { weight: 1, arbitrary: anyText },
    { weight: 2, arbitrary: grown(piece, HEADER_BYTES_MAX, fc.constantFrom(...pieces, '')) }
  )
}

const token68 = fc.string({ unit: characterOf('abcXYZ019-._~+/'), minLength: 1, maxLength: 60 })
const headers = fc.record({
  authorization: header(
    token68.map((token) => `GNAP ${token}`),
    'GNAP ',
    'gnap  ',
    'a',
    '=',
    '/',
    'Bearer '
  ),
  idempotencyKey: header(fc.uuid(), 'a', '!'),
  accept: header(
    fc.constantFrom('application/json', '*/*', 'application/json;q=0.5, text/html'),
    'application/json',
    ',',
    ';q=0',
    ';',
    '*/*'
  ),
  cacheControl: header(
    fc.constantFrom('max-age=60', 'no-store', 'public, max-age="5"'),
    'max-age=',
    ',',
    '"',
    '9',
    'no-cache',
    '='
  ),
  cookie: header(
    fc.constantFrom('interaction=abc', 'a=b; interaction=c', '__Secure-interaction="d"'),
    'interaction=',
    ';',
    '=',
    '"',
    '%',
    'a=b;',
    '__proto__=a;'
  ),
  secret: header(fc.constant('the-secret'), 'the-secret', 'a')
})

const cookies = ['https://auth.wallet.example/', 'http://localhost:4000/'].map((url) =>
  createInteractionCookie(createAddresses(url), 600)
)

const headerValues = target({
  name: 'values of headers',
  share: 300,
  acceptedMin: 0.1,
  cases: headers,
  attack({ authorization, idempotencyKey, accept, cacheControl, cookie, secret }) {
    const token = readAccessToken([authorization])
    mustHold(token === undefined || /^[A-Za-z0-9\-._~+/]{1,512}=*$/.test(token), 'a token is a token68')
    const trimmed = parseGnapToken(authorization.trim())
    mustHold(token === undefined || trimmed === token, 'both services read the same token')
    mustHold(readAccessToken([authorization, authorization]) === undefined, 'two tokens are none')
    refusedAs(
      () => {
        mustHold((readIdempotencyKey(idempotencyKey) ?? '').length <= 255, 'a key has an end')
        return ACCEPTED
      },
      (error) => (error instanceof Refusal && error.because === 'invalid-field' ? 'refused' : undefined)
    )
    mustHold(
      ['full', 'published'].includes(chooseRepresentation(accept, 'negotiated')),
      'there are two shapes'
    )
    const seconds = maxAgeSeconds({ 'cache-control': cacheControl, age: idempotencyKey })
    mustHold(seconds === undefined || (seconds >= 0 && seconds <= 2 ** 31), 'an age is seconds')
    for (const each of cookies) {
      for (const kept of Object.values(each.read(cookie)))
        mustHold(['string', 'undefined'].includes(typeof kept), 'what a cookie keeps is text')
      mustHold(
        !/[\r\n]/.test(each.write('0190a8b1-0000-7000-8000-000000000001', { cookie: 'value' })),
        'a cookie is one line'
      )
    }
    mustHold(
      isSameSecret(secret, 'the-secret') === (secret === 'the-secret'),
      'only the same secret is the same'
    )
    return token === undefined ? 'no token' : ACCEPTED
  }
})

/** Everything that reads single texts: of lists and headers. */
export const TEXT_TARGETS: readonly AnyTarget[] = [queries, tokens, headerValues]
