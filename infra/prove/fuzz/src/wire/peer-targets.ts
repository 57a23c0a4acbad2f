import { decodeReply } from '@open-payments-server/interledger'
import fc from 'fast-check'
import { mutatedBytes, prepareCases, writePrepare } from '../generators/packets.js'
import { mixed } from '../generators/text.js'
import { ACCEPTED, type AnyTarget, mustHold, target } from '../target.js'
import { checkAnswer } from './answers.js'
import type { FuzzedPeer } from './fuzzed-peer.js'
import { exchange } from './raw-targets.js'
import type { World } from './world.js'

const requests = fc.record({
  input: prepareCases,
  receiver: fc.constantFrom(0, 0, 1),
  /** What becomes of the packet before it is sent; undefined: nothing. */
  body: mixed<'changed' | 'empty' | 'large' | undefined>(
    [6, fc.constant(undefined)],
    [3, fc.constant('changed')],
    [1, fc.constantFrom('empty', 'large')]
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

type PeerRequest = typeof requests extends fc.Arbitrary<infer Case> ? Case : never

const LARGE_BYTES = 1_048_576

function write(request: PeerRequest, { token, destinations }: FuzzedPeer, nowMs: number): Buffer {
  const destination = destinations[request.receiver === 0 ? 0 : 1]
  const packet = writePrepare(request.input, destination, nowMs)
  const body = {
    changed: () => Buffer.concat([packet.subarray(0, request.input.seed % packet.length), request.edits]),
    empty: () => Buffer.alloc(0),
    large: () => Buffer.concat([packet, Buffer.alloc(LARGE_BYTES)])
  }
  const content = request.body === undefined ? packet : body[request.body]()
  const authorization = {
    token: [`authorization: Bearer ${token}`],
    another: [`authorization: Bearer ${token}0`],
    basic: ['authorization: Basic YTpi'],
    none: []
  }[request.authorization as 'token']
  const lines = [
    'POST / HTTP/1.1',
    'host: localhost',
    ...authorization,
    ...(request.contentType === '' ? [] : [`content-type: ${request.contentType}`]),
    `content-length: ${String(content.length)}`,
    'connection: close'
  ]
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), content])
}

/** What the peer owes, and what its packets brought. */
async function owedBy({ system, peer }: World): Promise<string> {
  const [row] = await system.resourceDatabase.query<{ owed: string }>(
    `select concat(sum(packet_value), ' ', sum(value)) as owed
       from received_packet where peer_id = (select id from peer where name = $1)`,
    [peer.name]
  )
  return row?.owed ?? ''
}

/** What other providers send to the listener for peers. */
export function peerTargets(world: () => World): readonly AnyTarget[] {
  return [
    target({
      name: 'packets of peers over HTTP',
      share: 60,
      acceptedMin: 0.02,
      cases: requests,
      async attack(request) {
        const { system, peer } = world()
        const { hostname, port } = new URL(system.peering.ilpEndpoint)
        const before = await owedBy(world())
        const bytes = write(request, peer, system.clock.now())
        const answers = await exchange([hostname, Number(port), '/'], bytes, false)
        const [answer] = answers
        if (answer === undefined || answers.length > 1) throw new Error('a packet is answered once')
        const { status, headers, body } = answer
        if (status !== 200) {
          const mayBeRead = request.authorization === 'token'
          mustHold({
            // A length that is announced is looked at before anything else.
            'what is too large gets 413': (request.body === 'large') === (status === 413),
            'a stranger gets 401': mayBeRead || status === 401 || status === 413,
            'a peer gets 400': !mayBeRead || status === 400 || status === 413,
            'what is refused changes nothing': (await owedBy(world())) === before
          })
          return checkAnswer({ status, header: (name) => headers[name], body }, 'POST')
        }
        const reply = decodeReply(Buffer.from(body, 'latin1'))
        mustHold({
          'only a peer is answered': request.authorization === 'token',
          'what is rejected changes nothing': reply.type === 'fulfill' || (await owedBy(world())) === before
        })
        return reply.type === 'fulfill' ? ACCEPTED : reply.code
      }
    })
  ]
}
