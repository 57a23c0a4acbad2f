import { isTransient } from '@open-payments-server/database'
import { NoAnswer, PublicError, type Route } from '@open-payments-server/http-server'
import { PacketError } from '@open-payments-server/interledger'
import { hashSecret } from '@open-payments-server/value-types/identifiers'
import type { PacketPeer, PeerDirectory } from '../../modules/peers/index.js'
import { TokenEnded } from './packet-credits.js'
import type { PacketReceiver } from './receive-packet.js'

/** Media type of packets (IL-RFC 35). */
const PACKET_TYPE = 'application/octet-stream'

const BEARER = /^Bearer ([\x21-\x7e]{1,1024})$/i

/** What the route needs. */
export interface ReceivePacketDependencies {
  readonly peers: PeerDirectory
  readonly receiver: PacketReceiver
  /** Counts an answered packet by what it was answered with: `fulfill`, or the code of a Reject. */
  readonly countPacket: (result: string) => void
}

/**
 * `POST /` of the peers' listener: ILP over HTTP in its synchronous form (IL-RFC 35). The token tells the peer, and so the asset of
 * the packet. 200 with a Fulfill or a Reject, 401 for a token of nobody, 400 for what is no packet.
 */
export function receivePacketRoute({ peers, receiver, countPacket }: ReceivePacketDependencies): Route {
  return {
    method: 'POST',
    path: '/',
    name: 'packets',
    async handle(request, response) {
      const [, token] = BEARER.exec(request.get('authorization') ?? '') ?? []
      const peer = token === undefined ? undefined : await peers.find(hashSecret(token))
      if (peer === undefined) throw unknownToken()
      if (request.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase() !== PACKET_TYPE) {
        throw refused(400, `the content type must be ${PACKET_TYPE}`)
      }
      const { body } = request
      if (body === undefined) throw refused(400, 'the body must be an ILP Prepare')
      const { reply, result } = await answered(() => receiver.receive(body, peer), peer, peers)
      countPacket(result)
      // A peer that floods does not keep the connections of others.
      if (result === 'T03') response.addField('Connection', 'close')
      response.sendBytes(200, PACKET_TYPE, reply)
    }
  }
}

async function answered<Result>(
  receive: () => Promise<Result>,
  { id: peerId, tokenHash }: PacketPeer,
  peers: PeerDirectory
): Promise<Result> {
  try {
    return await receive()
  } catch (error) {
    if (error instanceof TokenEnded) {
      peers.forget(tokenHash)
      throw unknownToken(error)
    }
    if (error instanceof PacketError) throw refused(400, 'the body must be an ILP Prepare', error)
    // Whether it was credited, the database alone knows: a Reject might be untrue.
    if (isTransient(error))
      throw new NoAnswer('the result of a packet is not known', { fields: { peerId }, cause: error })
    throw error
  }
}

function unknownToken(cause?: unknown): PublicError {
  return refused(401, 'the token is that of no peer', cause)
}

function refused(status: number, description: string, cause?: unknown): PublicError {
  return new PublicError({ status, code: String(status), description, cause })
}
