import { isUuid } from '@open-payments-server/runtime'
import { invalidField } from '../../domain/request-fields.js'

/** The last grant of a page: the next page begins after it. */
export interface PageEnd {
  readonly createdAt: Date
  readonly grantId: string
}

/** Latest instant of a JavaScript date, in milliseconds since 1970. */
const INSTANT_MAX_MS = 8.64e15

/** Makes a token of where a page ended. Callers must not look into it. */
export function writePageToken({ createdAt, grantId }: PageEnd): string {
  return Buffer.from(`${String(createdAt.getTime())}.${grantId}`).toString('base64url')
}

/**
 * Reads a token that {@link writePageToken} made.
 *
 * @throws RpcError INVALID_ARGUMENT for any other text
 */
export function readPageToken(token: string): PageEnd {
  const [createdAtMs = '', grantId = ''] = Buffer.from(token, 'base64url').toString('utf8').split('.')
  if (!/^\d{1,16}$/.test(createdAtMs) || Number(createdAtMs) > INSTANT_MAX_MS || !isUuid(grantId)) {
    throw invalidField('page_token', 'must be a next_page_token')
  }
  return { createdAt: new Date(Number(createdAtMs)), grantId }
}
