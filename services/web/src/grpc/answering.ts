import { isRpcError, RpcError, status } from '@open-payments-server/grpc-transport'
import { ServiceAway } from '../domain/grant.js'
import { NoSuchPage } from '../domain/paged.js'

/** Idempotent calls, which may be repeated. */
export const REPEATABLE = { idempotent: true } as const

/**
 * Waits for an answer.
 *
 * @param service which one, for the log
 * @throws NoSuchPage for a page token that is none; ServiceAway for whatever else is wrong
 */
export async function answerOf<Answer>(service: string, call: Promise<Answer>): Promise<Answer> {
  try {
    return await call
  } catch (error) {
    throw awayUnlessPage(service, error)
  }
}

/** The same; undefined for what is not there. */
export async function foundOf<Answer>(service: string, call: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await call
  } catch (error) {
    if (isRpcError(error, status.NOT_FOUND)) return undefined
    throw awayUnlessPage(service, error)
  }
}

function awayUnlessPage(service: string, error: unknown): unknown {
  if (!(error instanceof RpcError)) return error
  if (error.code === status.INVALID_ARGUMENT && error.field === 'page_token')
    return new NoSuchPage('there is no such page', { cause: error })
  return new ServiceAway(service, { cause: error })
}

/** What the contract promises to be there. */
export function there<Value>(service: string, value: Value | undefined): Value {
  if (value === undefined) throw new ServiceAway(`${service} left out what belongs there`)
  return value
}
