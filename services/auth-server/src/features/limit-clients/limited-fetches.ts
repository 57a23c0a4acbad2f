import type { SafeHttpClient } from '@open-payments-server/http-client'
import type { RateLimits } from '@open-payments-server/service-kit/rate-limits'
import { CommonRefusal } from '@open-payments-server/value-types/refusals'
import { DirectoryBusy } from '../../domain/clients.js'

/**
 * Limits how often a document of a wallet address is fetched: before a signature is verified, anyone can name any wallet
 * address. Fetches are counted, not requests, so that others can never lock out a client whose keys are cached.
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
        throw error instanceof CommonRefusal ? new DirectoryBusy(error) : error
      }
      return httpClient.getJson(url)
    },
    vouchFor(url) {
      httpClient.vouchFor(url)
    }
  }
}
