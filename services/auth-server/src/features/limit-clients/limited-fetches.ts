import type { SafeHttpClient } from '@open-payments-server/http-client'
import { PublicError } from '@open-payments-server/http-server'
import type { RateLimits } from '@open-payments-server/rate-limits'
import { type ClientDirectory, DirectoryBusy } from '../../domain/clients.js'

/**
 * Limits how often a document of a wallet address is fetched: before a signature is verified, anybody can name anybody's.
 * What is counted is the fetch and not the request, so that a client whose keys are known is never locked out by others.
 */
export function limitFetches(
  httpClient: Pick<SafeHttpClient, 'getJson'>,
  limits: Pick<RateLimits, 'count'>
): Pick<SafeHttpClient, 'getJson'> {
  return {
    async getJson(url) {
      try {
        await limits.count(undefined, { 'wallet-address': url })
      } catch (error) {
        throw new DirectoryBusy('the document is fetched too often', { cause: error })
      }
      return httpClient.getJson(url)
    }
  }
}

/** The directory for those who answer over HTTP: a fetch that the limit refused is a request that it refuses. */
export function tellLimits(directory: ClientDirectory): ClientDirectory {
  return {
    findKey: (walletAddress, keyId) => telling(directory.findKey(walletAddress, keyId)),
    getWalletAddress: (url) => telling(directory.getWalletAddress(url)),
    getReceiverAsset: (url) => telling(directory.getReceiverAsset(url))
  }
}

async function telling<Result>(result: Promise<Result>): Promise<Result> {
  try {
    return await result
  } catch (error) {
    throw error instanceof DirectoryBusy && error.cause instanceof PublicError ? error.cause : error
  }
}
