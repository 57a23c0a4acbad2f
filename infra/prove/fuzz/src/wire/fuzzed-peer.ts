import { randomBytes } from 'node:crypto'
import { type ConnectedSystem, createDestination, createPeer } from '@open-payments-server/acceptance'
import type { StreamCredentials } from '@open-payments-server/interledger'

/** Another provider, and where its packets go. */
export interface FuzzedPeer {
  readonly name: string
  readonly token: string
  /** Incoming payments: one takes any amount, and one little. */
  readonly destinations: readonly [StreamCredentials, StreamCredentials]
}

/** Creates a peer that may owe any amount, and takes packets of up to a million. */
export async function createFuzzedPeer(system: ConnectedSystem): Promise<FuzzedPeer> {
  const token = randomBytes(24).toString('hex')
  const name = 'fuzzed'
  await createPeer(system, {
    name,
    ilpAddress: 'test.fuzzed',
    endpoint: 'http://127.0.0.1:2/',
    outgoingToken: token,
    incomingToken: token,
    packetLimitValue: '1000000'
  })
  const destinations = [
    await createDestination(system),
    await createDestination(system, { incoming: 1_000n })
  ] as const
  return { name, token, destinations }
}
