import fc from 'fast-check'
import { writePageToken } from '../../../../services/auth-server/src/grpc/page-token.js'
import { formatCursor } from '../../../../services/resource-server/src/domain/pagination.js'
import { writeTextToken } from '../../../../services/resource-server/src/domain/operator-pages.js'
import { anyText, grown, mutated, oddPiece } from './text.js'

/** Longest request target that a listener takes, in characters. */
const TARGET_LENGTH_MAX = 8_192

/** The last instant that a cursor can tell: its six bytes full. */
const CURSOR_INSTANT_MAX_MS = 2 ** 48 - 1

const cursorInstant = fc.oneof(
  fc.constantFrom(0, 1, CURSOR_INSTANT_MAX_MS),
  fc.integer({ min: 1.7e12, max: 1.9e12 })
)
const ids = fc.oneof(fc.uuid(), fc.constantFrom(`${'0'.repeat(8)}-0000-7000-8000-${'0'.repeat(12)}`))
const encoded = fc.oneof(fc.base64String(), anyText.map(writeTextToken), anyText)

/** Cursors of lists: proper ones of any instant, changed ones, and others. */
export const cursor: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(cursorInstant, ids).map(([createdAtMs, id]) => formatCursor({ createdAtMs, id }))
  },
  {
    weight: 2,
    arbitrary: mutated(
      fc.tuple(cursorInstant, ids).map(([createdAtMs, id]) => formatCursor({ createdAtMs, id }))
    )
  },
  { weight: 1, arbitrary: encoded }
)

const tokenInstant = fc.oneof(fc.constantFrom(0, 1, 8.64e15, 8.64e15 + 1), fc.integer({ min: 0, max: 2e12 }))
const properToken = fc.oneof(
  fc
    .tuple(tokenInstant, ids)
    .map(([instantMs, id]) => Buffer.from(`${String(instantMs)}.${id}`).toString('base64url')),
  fc
    .tuple(fc.integer({ min: 0, max: 2e12 }), ids)
    .map(([instantMs, id]) => writePageToken({ createdAt: new Date(instantMs), id })),
  fc.constantFrom('alice', '/alice', 'a'.repeat(64)).map(writeTextToken)
)

/**
 * Page tokens of lists over gRPC: proper ones, changed ones, and others.
 *
 * @param lengthMax longest, in characters
 */
export function pageTokens(lengthMax: number): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 24, arbitrary: properToken },
    { weight: 12, arbitrary: cursor },
    { weight: 12, arbitrary: mutated(properToken) },
    { weight: 12, arbitrary: encoded },
    { weight: 1, arbitrary: grown(fc.constantFrom('A', '_', '=', '.', 'Li4u', 'MS4', '-'), lengthMax) }
  )
}

const size = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 100 }).map(String) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '0',
      '101',
      '-1',
      '1.0',
      '01',
      '1e1',
      '+1',
      '%31',
      '%001',
      '',
      '99999999999999999999'
    )
  }
)

/** A parameter of a list. */
function parameter(name: string, values: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 3, arbitrary: values.map((value) => `${name}=${value}`) },
    { weight: 6, arbitrary: fc.constant('') },
    { weight: 1, arbitrary: fc.tuple(values, values).map(([one, two]) => `${name}=${one}&${name}=${two}`) }
  )
}

/**
 * Queries of lists.
 *
 * @param walletAddresses URLs that may be asked about
 */
export function listQueries(walletAddresses: readonly [string, ...string[]]): fc.Arbitrary<string> {
  const wallet = fc.constantFrom(...walletAddresses).map((url) => `wallet-address=${encodeURIComponent(url)}`)
  const written = fc
    .tuple(
      fc.oneof(
        { weight: 8, arbitrary: wallet },
        { weight: 1, arbitrary: fc.constantFrom('', 'wallet-address=', 'wallet-address') }
      ),
      parameter('first', size),
      parameter('last', size),
      parameter('cursor', cursor.map(encodeLeniently)),
      fc.oneof(
        { weight: 8, arbitrary: fc.constant('') },
        { weight: 1, arbitrary: fc.constantFrom('other=1', '__proto__=1', 'first[]=1', '&&', '=') }
      )
    )
    .map((parts) => parts.filter((part) => part !== '').join('&'))
  return fc.oneof(
    { weight: 12, arbitrary: written },
    { weight: 3, arbitrary: mutated(written) },
    {
      weight: 1,
      arbitrary: grown(
        fc.oneof(fc.constantFrom('&', '=', 'a=', '&first=1', '%', '%2', '+'), oddPiece),
        TARGET_LENGTH_MAX
      )
    }
  )
}

/** Percent-encodes what is not in a URL; lone surrogates are left out, as they have no encoding. */
export function encodeLeniently(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, ''))
}
