import { OutgoingRequestError } from '@open-payments-server/http-client'
import { PacketNotSent, type PacketPath } from '@open-payments-server/interledger'
import type { SendingPeer } from '../../modules/peers/index.js'
import type { SendPacketsDependencies } from './dependencies.js'

/** Media type of packets (IL-RFC 35). */
const PACKET_TYPE = 'application/octet-stream'
/** Maximum size of an answer, in bytes: twice the largest packet. */
const ANSWER_BYTES_MAX = 65_536
const OK = 200
/** Statuses by which a peer says that it did not read the packet. */
const NOT_TAKEN: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 411, 413, 415, 429])

/** The way over a peer: ILP over HTTP in its synchronous form (IL-RFC 35). */
export async function pathOver(
  { id, endpoint, sealedOutgoingToken }: SendingPeer,
  {
    peerClient,
    peerSecrets,
    counters
  }: Pick<SendPacketsDependencies, 'peerClient' | 'peerSecrets' | 'counters'>
): Promise<PacketPath> {
  const token = await peerSecrets.open(id, sealedOutgoingToken)
  const headers = { authorization: `Bearer ${token}`, 'content-type': PACKET_TYPE, accept: PACKET_TYPE }
  return {
    async send(prepare, signal) {
      const message = { headers, body: prepare, bodyBytesMax: ANSWER_BYTES_MAX, signal }
      const { status, body } = await peerClient.exchange(endpoint, message).catch((error: unknown) => {
        const isUnsent = error instanceof OutgoingRequestError && error.isUnsent
        counters.countPeerRequest(isUnsent ? 'not_sent' : 'no_answer')
        throw isUnsent ? new PacketNotSent('the packet did not leave', { cause: error }) : error
      })
      if (status === OK) {
        counters.countPeerRequest('answered')
        return body
      }
      if (NOT_TAKEN.has(status)) {
        counters.countPeerRequest('refused')
        throw new PacketNotSent(`a peer refused a packet with ${String(status)}`)
      }
      counters.countPeerRequest('no_answer')
      throw new Error(`a peer answered a packet with ${String(status)}`)
    }
  }
}
