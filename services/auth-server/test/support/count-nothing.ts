import type { GrantCounters, RpcCounters } from '../../src/domain/counters.js'

/** Counters of a gRPC server whose metrics nothing reads. */
export const COUNT_NOTHING: RpcCounters & Pick<GrantCounters, 'countGrant'> = {
  countGrant: () => undefined,
  countIntrospection: () => undefined,
  countReservation: () => undefined
}
