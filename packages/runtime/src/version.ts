import { readFileSync } from 'node:fs'

/**
 * Version of a service.
 *
 * @param manifest its package.json
 * @throws Error when there is none, or it names no version
 */
export function readVersion(manifest: URL): string {
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version?: unknown }
  if (typeof version !== 'string') throw new Error(`${manifest.pathname} names no version`)
  return version
}
