/** What became of a packet that was sent to a peer, or of a probe: whether its endpoint answered. */
export const PEER_REQUEST_RESULTS = ['answered', 'refused', 'not_sent', 'no_answer'] as const
export type PeerRequestResult = (typeof PEER_REQUEST_RESULTS)[number]

/** What packets that were sent to peers are counted by. */
export interface SentPacketCounters {
  /**
   * Counts a request to the endpoint of a peer: `answered` with a packet, `refused` unread, `not_sent` for want of a connection; `no_answer`
   * whatever else happened.
   */
  readonly countPeerRequest: (result: PeerRequestResult) => void
  /** Counts a packet of a payment by what became of it: `fulfill`, the code of its Reject, or `unknown`. */
  readonly countSentPacket: (result: string) => void
}
