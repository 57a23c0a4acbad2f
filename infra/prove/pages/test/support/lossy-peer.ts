import { randomBytes } from 'node:crypto'
import {
  AnswerLoser,
  createPeer,
  createReceiver,
  eventually,
  pay,
  startSystem,
  type System
} from '@open-payments-server/acceptance'

/** Within these nobody else has to agree to a peer, in cents. */
const LIMITS = { receivableLimitValue: '100000', payableLimitValue: '100000' }

/** Another provider, of which answers get lost. */
export interface LossyPeer {
  /** Both services of the other provider. */
  readonly other: System
  /**
   * Pays bob there from alice's wallet, but the answer to the packet is lost: it is not known whether it arrived.
   *
   * @param value in cents
   * @returns URL of the outgoing payment, which waits for a decision
   */
  payAndLose(token: string, value: bigint): Promise<string>
  /** Lets time pass for all packets, until nobody would answer them any more. */
  giveUpAnswers(): Promise<void>
  stop(): Promise<void>
}

/** A peer in US dollars, as the operator of a system creates it. */
export function createPeerWithin(
  system: Parameters<typeof createPeer>[0],
  peer: Pick<Parameters<typeof createPeer>[1], 'name' | 'ilpAddress' | 'endpoint'> & {
    readonly incomingToken?: string
    readonly outgoingToken?: string
  }
): Promise<void> {
  const newToken = (): string => randomBytes(24).toString('hex')
  return createPeer(system, { incomingToken: newToken(), outgoingToken: newToken(), ...LIMITS, ...peer })
}

/** Starts another provider as a peer of a system. @param name what the system knows it by */
export async function startLossyPeer(system: System, name: string): Promise<LossyPeer> {
  const other = await startSystem({ clock: system.clock })
  const loser = await AnswerLoser.start(other.peering.ilpEndpoint)
  const [toOther, toSystem] = [randomBytes(24).toString('hex'), randomBytes(24).toString('hex')]
  await createPeerWithin(system, {
    ...{ name, ilpAddress: other.peering.ilpAddress, endpoint: loser.url },
    ...{ incomingToken: toSystem, outgoingToken: toOther }
  })
  await createPeerWithin(other, {
    ...{ name: 'console', ilpAddress: system.peering.ilpAddress, endpoint: system.peering.ilpEndpoint },
    ...{ incomingToken: toOther, outgoingToken: toSystem }
  })
  return {
    other,
    async payAndLose(token, value) {
      const receiver = await createReceiver(other, other.shop)
      const lost = loser.loseNext()
      const created = await pay(system, system.shop, token, receiver.url, value)
      const url = created.textAt('id')
      await lost
      await eventually('the payment waits for a decision', async () => {
        const query = 'select 1 from sending where payment_id = $1 and due_at is null'
        return (await system.resourceDatabase.query(query, [url.slice(-36)])).length > 0
      })
      return url
    },
    async giveUpAnswers() {
      await system.resourceDatabase.query(
        `update sent_packet set expires_at = now() - interval '5 minutes' where outcome = 'unknown'`
      )
    },
    async stop() {
      await loser.stop()
      await other.stop()
    }
  }
}
