import fc from 'fast-check'
import { writePageToken, writeTextToken } from '../../../../../packages/service-kit/src/grpc/pages.js'
import { formatCursor } from '../../../../../services/resource-server/src/domain/pagination.js'
import { anyText, attempts, joined, mixed, word } from './text.js'

// Parameters of lists: cursors of clients, page tokens of operators.

/** Maximum length of a request target, in characters. */
export const TARGET_LENGTH_MAX = 8_192

const createdAtMs = fc.oneof(fc.constantFrom(0, 1, 2 ** 48 - 1), fc.integer({ min: 1.7e12, max: 1.9e12 }))
const id = fc.oneof(fc.uuid(), fc.constant('00000000-0000-7000-8000-000000000000'))
const place = fc.record({ createdAtMs, id })
const cursor = place.map(formatCursor)
const encoded = fc.oneof(fc.base64String(), anyText.map(writeTextToken))
const properToken = fc.oneof(
  place.map(writePageToken),
  fc
    .tuple(fc.constantFrom(0, 8.64e15, 8.64e15 + 1), fc.uuid())
    .map(([ms, id]) => writeTextToken(`${String(ms)}.${id}`)),
  fc.constantFrom('alice', '/alice', 'a'.repeat(64), 'a\0').map(writeTextToken)
)

/**
 * Page tokens of lists over gRPC: valid ones, changed ones, and others.
 *
 * @param lengthMax maximum length, in characters
 */
export function pageTokens(lengthMax: number): fc.Arbitrary<string> {
  const tokens = mixed([2, properToken], [1, cursor], [1, encoded])
  return attempts(tokens, lengthMax, word('A _ = . Li4u MS4 -'))
}

const size = mixed(
  [3, fc.integer({ min: 1, max: 100 }).map(String)],
  [1, word('0 101 -1 1.0 01 1e1 +1 %31 %001 99999999999999999999')],
  [1, fc.constant('')]
)

/** A parameter of a list: mostly absent, sometimes repeated. */
function parameter(name: string, values: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const given = values.map((value) => `&${name}=${value}`)
  return mixed([6, fc.constant('')], [3, given], [1, joined(given, given)])
}

/**
 * Queries of lists.
 *
 * @param walletAddress URL of the wallet address whose resources are listed
 */
export function listQueries(walletAddress: string): fc.Arbitrary<string> {
  const wallet = `wallet-address=${encodeURIComponent(walletAddress)}`
  const some = fc.oneof(cursor, attempts(cursor, 100), encoded)
  const written = joined(
    mixed([8, fc.constant(wallet)], [1, fc.constantFrom('', 'wallet-address=', 'wallet-address')]),
    parameter('first', size),
    parameter('last', size),
    parameter('cursor', some.map(encodeLeniently)),
    mixed([8, fc.constant('')], [1, word('&other=1 &__proto__=1 &first[]=1 && &=')])
  )
  return attempts(written, TARGET_LENGTH_MAX, word('& = a= &first=1 % %2 +'))
}

/** Percent-encodes what is not in a URL; lone surrogates are left out, as they have no encoding. */
export function encodeLeniently(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, ''))
}
