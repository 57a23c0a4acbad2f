import { randomBytes } from 'node:crypto'
import type { ServiceName } from '@open-payments-server/acceptance'
import { hashSecret } from '@open-payments-server/value-types/identifiers'
import { Redis } from 'ioredis'

/** Requests from one address that all replicas of each service, of any version, have counted in Redis. */
export class CountedRequests {
  /** The client address of all requests of one fleet. It is unique, because fleets may share a Redis. */
  readonly clientAddress = ['10', ...randomBytes(3)].join('.')
  readonly #redisUrl: string

  constructor(redisUrl: string) {
    this.#redisUrl = redisUrl
  }

  /** Number of requests counted by a service. */
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
