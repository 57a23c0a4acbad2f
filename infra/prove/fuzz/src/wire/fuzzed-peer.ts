import { randomBytes } from 'node:crypto'
import { createReceiver, type System } from '@open-payments-server/acceptance'
import { callUnary } from '@open-payments-server/grpc-transport'
import type { StreamCredentials } from '@open-payments-server/interledger'

/** Another provider, and where its packets go. */
export interface FuzzedPeer {
  readonly name: string
  readonly token: string
  /** Incoming payments: one takes any amount, and one little. */
  readonly destinations: readonly [StreamCredentials, StreamCredentials]
}

/** Creates a peer that may owe any amount, and takes packets of up to a million. */
export async function createFuzzedPeer(system: System): Promise<FuzzedPeer> {
  const token = randomBytes(24).toString('hex')
  const name = 'fuzzed'
  await callUnary(
    system.peers,
    'createPeer',
    {
      name,
      asset: { code: 'USD', scale: 2 },
      ilpAddress: 'test.fuzzed',
      routes: [],
      endpoint: 'http://127.0.0.1:2/',
      outgoingToken: token,
      incomingToken: token,
      receivableLimitValue: '',
      payableLimitValue: '',
      packetLimitValue: '1000000',
      lowAlertValue: '',
      highAlertValue: ''
    },
    { idempotent: false }
  )
  const destinationOf = async (incoming?: bigint): Promise<StreamCredentials> => {
    const { url, token: accessToken } = await createReceiver(
      system,
      system.shop,
      incoming === undefined ? {} : { incoming }
    )
    const answer = await system.shop.request('GET', url, { accessToken })
    return {
      ilpAddress: answer.textAt('methods.0.ilpAddress'),
      sharedSecret: Buffer.from(answer.textAt('methods.0.sharedSecret'), 'base64url')
    }
  }
  return { name, token, destinations: [await destinationOf(), await destinationOf(1_000n)] }
}
