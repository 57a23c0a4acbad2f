import { randomBytes } from 'node:crypto'
import type { ServiceName } from '@open-payments-server/acceptance'
import { hashSecret } from '@open-payments-server/value-types/identifiers'
import { Redis } from 'ioredis'

/** What the replicas of each service, whatever their version, count together in Redis, of requests from one address. */
export class CountedRequests {
  /** Where all requests of one fleet come from, and of no other: fleets may share a Redis. */
  readonly clientAddress = ['10', ...randomBytes(3)].join('.')
  readonly #redisUrl: string

  constructor(redisUrl: string) {
    this.#redisUrl = redisUrl
  }

  /** How many there were at a service. */
  async at(service: ServiceName): Promise<number> {
    const redis = new Redis(this.#redisUrl)
    try {
      const key = `${service}:rate-limit:address:${hashSecret(this.clientAddress).toString('base64url')}`
      return Number(await redis.get(key))
    } finally {
      redis.disconnect()
    }
  }
}
