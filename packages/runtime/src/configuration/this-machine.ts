import { isLoopbackHost } from '../loopback.js'

/**
 * Whether a store is on this machine itself.
 *
 * @param hostname of its URL: none for a socket in the file system
 */
export function isThisMachine(hostname: string): boolean {
  return hostname === '' || isLoopbackHost(hostname)
}
