import { decodeReply } from '@open-payments-server/interledger'
import { ACCEPTED, type AnyTarget, mustHold, target } from '../target.js'
import { checkAnswer } from './answers.js'
import { peerRequests, writePeerRequest } from './peer-requests.js'
import { exchange } from './raw-targets.js'
import type { World } from './world.js'

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
      cases: peerRequests({ largeWeight: 5 }),
      async attack(request) {
        const { system, peer } = world()
        const { hostname, port } = new URL(system.peering.ilpEndpoint)
        const before = await owedBy(world())
        const bytes = writePeerRequest(request, peer, { nowMs: system.clock.now(), isLast: true })
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
