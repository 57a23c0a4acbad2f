import { OutgoingRequestError } from '@open-payments-server/http-client'
import { PacketNotSent, type PacketPath } from '@open-payments-server/interledger'
import type { PeerRequestResult } from '../../domain/packet-counters.js'
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
    counters,
    logTrouble
  }: Pick<SendPacketsDependencies, 'peerClient' | 'peerSecrets' | 'counters' | 'logTrouble'>
): Promise<PacketPath> {
  const token = await peerSecrets.open(id, sealedOutgoingToken)
  const headers = { authorization: `Bearer ${token}`, 'content-type': PACKET_TYPE, accept: PACKET_TYPE }
  const failed = (result: Exclude<PeerRequestResult, 'answered'>, error: Error): Error => {
    counters.countPeerRequest(result)
    logTrouble(id, error)
    return error
  }
  return {
    async send(prepare, signal) {
      const message = { headers, body: prepare, bodyBytesMax: ANSWER_BYTES_MAX, signal }
      const { status, body } = await peerClient.exchange(endpoint, message).catch((error: unknown) => {
        throw error instanceof OutgoingRequestError && error.isUnsent
          ? failed('not_sent', new PacketNotSent('the packet did not leave', { cause: error }))
          : failed('no_answer', new Error('a peer did not answer a packet', { cause: error }))
      })
      if (status === OK) {
        counters.countPeerRequest('answered')
        return body
      }
      throw NOT_TAKEN.has(status)
        ? failed('refused', new PacketNotSent(`a peer refused a packet with ${String(status)}`))
        : failed('no_answer', new Error(`a peer answered a packet with ${String(status)}`))
    }
  }
}
