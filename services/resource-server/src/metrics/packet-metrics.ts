import type { Metrics } from '@open-payments-server/service-kit/metrics'
import { PEER_REQUEST_RESULTS, type SentPacketCounters } from '../domain/packet-counters.js'

/** What packets of peers are answered with: `fulfill`, or the code of a Reject (IL-RFC 27 §3). */
const PACKET_RESULTS = [
  'fulfill',
  'F02',
  'F06',
  'F08',
  'F99',
  'R00',
  'R01',
  'R02',
  'T00',
  'T03',
  'T04'
] as const

/** Counts packets of peers by what they were answered with. */
export function publishPackets(metrics: Metrics): (result: string) => void {
  const count = metrics.addCounters(
    {
      name: 'open_payments_packets_received_total',
      help: 'Packets of peers that were answered, by the answer: `fulfill`, or the code of the reject.'
    },
    'result',
    PACKET_RESULTS
  )
  const known: ReadonlySet<string> = new Set(PACKET_RESULTS)
  return (result) => {
    if (!known.has(result)) throw new Error(`${result} is not counted`)
    count(result as (typeof PACKET_RESULTS)[number])
  }
}

/** What becomes of packets: `fulfill`, a code of ILP (IL-RFC 27 §3) or of STREAM's reference implementation, `other`, or `unknown`. */
const SENT_RESULTS = [
  'fulfill',
  ...['F00', 'F01', 'F02', 'F03', 'F04', 'F05', 'F06', 'F07', 'F08', 'F99'],
  ...['T00', 'T01', 'T02', 'T03', 'T04', 'T05', 'T99'],
  ...['R00', 'R01', 'R02', 'R99'],
  'other',
  'unknown'
] as const

/** Counts packets that are sent to peers. */
export function publishSentPackets(metrics: Metrics): SentPacketCounters {
  const count = metrics.addCounters(
    {
      name: 'open_payments_packets_sent_total',
      help: 'Packets of payments to other providers, by what became of them: `fulfill`, the code of the reject, or `unknown`.'
    },
    'result',
    SENT_RESULTS
  )
  const known: ReadonlySet<string> = new Set(SENT_RESULTS)
  return {
    countPeerRequest: metrics.addCounters(
      {
        name: 'open_payments_peer_requests_total',
        help: 'Requests to the endpoints of peers, probes included, by whether they were answered.'
      },
      'result',
      PEER_REQUEST_RESULTS
    ),
    countSentPacket: (result) => {
      count(known.has(result) ? (result as (typeof SENT_RESULTS)[number]) : 'other')
    }
  }
}
