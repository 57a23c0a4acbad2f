import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Helm } from '@open-payments-server/kubernetes'

const OUTPUT_BYTES_MAX = 16 * 1024 * 1024

/**
 * Runs Helm.
 *
 * @returns its output
 * @throws Error with its output
 */
export async function runHelm({ path }: Helm, words: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(path, words, { maxBuffer: OUTPUT_BYTES_MAX })
  return stdout
}
