import type { SafeHttpClient } from '@open-payments-server/http-client'
import { PublicError } from '@open-payments-server/http-server'
import type { RateLimits } from '@open-payments-server/service-kit/rate-limits'
import { DirectoryBusy } from '../../domain/clients.js'

/**
 * Limits how often a document of a wallet address is fetched: before a signature is verified, anybody can name anybody's.
 * What is counted is the fetch and not the request, so that a client whose keys are known is never locked out by others.
 */
export function limitFetches(
  httpClient: Pick<SafeHttpClient, 'getJson' | 'vouchFor'>,
  limits: Pick<RateLimits, 'count'>
): Pick<SafeHttpClient, 'getJson' | 'vouchFor'> {
  return {
    async getJson(url) {
      try {
        limits.count(undefined, { 'wallet-address': url })
      } catch (error) {
        throw error instanceof PublicError ? new DirectoryBusy(error) : error
      }
      return httpClient.getJson(url)
    },
    vouchFor(url) {
      httpClient.vouchFor(url)
    }
  }
}
