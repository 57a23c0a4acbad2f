import type { Metrics } from '@open-payments-server/service-kit/metrics'

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
