import fc from 'fast-check'
import { mutatedBytes, type PrepareCase, prepareCases, writePrepare } from '../generators/packets.js'
import { mixed } from '../generators/text.js'
import type { FuzzedPeer } from './fuzzed-peer.js'

/** What another provider, or a stranger, sends to the listener for peers. */
export interface PeerRequest {
  readonly input: PrepareCase
  /** Which of the peer's destinations it is for. */
  readonly receiver: number
  /** What becomes of the packet before it is sent; undefined: nothing. */
  readonly body: 'changed' | 'empty' | 'large' | undefined
  /** What a changed one ends with. */
  readonly edits: Buffer
  readonly authorization: string
  readonly contentType: string
}

/**
 * Requests, of which most present the peer's token and are of its content type.
 *
 * @param largeWeight how many of 100 requests have a body of more than a mebibyte; may be less than 1
 */
export function peerRequests({ largeWeight }: { readonly largeWeight: number }): fc.Arbitrary<PeerRequest> {
  return fc.record({
    input: prepareCases,
    receiver: fc.constantFrom(0, 0, 1),
    body: mixed<PeerRequest['body']>(
      [60_000, fc.constant(undefined)],
      [30_000, fc.constant('changed')],
      [5_000, fc.constant('empty')],
      [largeWeight * 1_000, fc.constant('large')]
    ),
    edits: mutatedBytes(fc.constant(Buffer.alloc(0))),
    authorization: fc.constantFrom(...Array.from({ length: 12 }, () => 'token'), 'another', 'basic', 'none'),
    contentType: fc.constantFrom(
      ...Array.from({ length: 5 }, () => 'application/octet-stream'),
      'Application/Octet-Stream; a=b',
      'application/json',
      ''
    )
  })
}

const LARGE_BYTES = 1_048_576

/** The body of a request: a packet, or what became of it. */
export function writePeerBody(request: PeerRequest, { destinations }: FuzzedPeer, nowMs: number): Buffer {
  const packet = writePrepare(request.input, destinations[request.receiver === 0 ? 0 : 1], nowMs)
  switch (request.body) {
    case undefined:
      return packet
    case 'changed':
      return Buffer.concat([packet.subarray(0, request.input.seed % packet.length), request.edits])
    case 'empty':
      return Buffer.alloc(0)
    case 'large':
      return Buffer.concat([packet, Buffer.alloc(LARGE_BYTES)])
  }
}

/**
 * Writes a request.
 *
 * @param how.nowMs what the packet's expiry counts from
 * @param how.isLast whether the connection is to end after it
 */
export function writePeerRequest(
  request: PeerRequest,
  peer: FuzzedPeer,
  how: { readonly nowMs: number; readonly isLast: boolean }
): Buffer {
  return writePost(request, peer, { content: writePeerBody(request, peer, how.nowMs), isLast: how.isLast })
}

/** Writes the request that has a body. */
export function writePost(
  { authorization, contentType }: Pick<PeerRequest, 'authorization' | 'contentType'>,
  { token }: FuzzedPeer,
  { content, isLast }: { readonly content: Buffer; readonly isLast: boolean }
): Buffer {
  const presented: Readonly<Record<string, string>> = {
    token: `authorization: Bearer ${token}`,
    another: `authorization: Bearer ${token}0`,
    basic: 'authorization: Basic YTpi'
  }
  const credentials = presented[authorization]
  const lines = [
    'POST / HTTP/1.1',
    'host: localhost',
    ...(credentials === undefined ? [] : [credentials]),
    ...(contentType === '' ? [] : [`content-type: ${contentType}`]),
    `content-length: ${String(content.length)}`,
    ...(isLast ? ['connection: close'] : [])
  ]
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), content])
}
