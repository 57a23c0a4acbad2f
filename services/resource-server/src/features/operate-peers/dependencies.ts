import type { PostClient } from '@open-payments-server/http-client'
import type { SecretBox } from '@open-payments-server/runtime/secret-box'
import type { Clock } from '@open-payments-server/value-types/clock'
import type { Random } from '@open-payments-server/value-types/identifiers'
import type { Queries } from '../../modules/database.js'

/** What operating peers needs. */
export interface PeerDependencies {
  readonly database: Queries
  readonly clock: Clock
  readonly random: Random
  /** Encrypts outgoing tokens; undefined without a key. */
  readonly peerSecrets: SecretBox | undefined
  /** Minimum length of a token that a peer presents here, in characters. */
  readonly incomingTokenLengthMin: number
  /** Tells which endpoints may be posted to, which may take as long as asking for an address does. */
  readonly peerClient: Pick<PostClient, 'check'>
  /** Signals that there is a payment to go on with. */
  readonly onPaymentCreated: () => void
}
