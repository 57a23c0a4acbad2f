import { callUnary, isRpcError, status } from '@open-payments-server/grpc-transport'
import { auth, wallet } from '@open-payments-server/proto'
import fc from 'fast-check'
import { pageTokens } from '../generators/pages.js'
import { ACCEPTED, type AnyTarget, target } from '../target.js'
import type { World } from './world.js'

/** Longest page token that is sent, in characters: many times as long as any, and short enough to be sent often. */
const PAGE_TOKEN_LENGTH_MAX = 65_536

const LISTS = [
  'accounts',
  'wallet addresses',
  'incoming payments',
  'outgoing payments',
  'grants',
  'open reservations'
] as const

const PAYMENT_KINDS = {
  'incoming payments': wallet.PaymentKind.PAYMENT_KIND_INCOMING,
  'outgoing payments': wallet.PaymentKind.PAYMENT_KIND_OUTGOING
}

interface PageCase {
  readonly list: (typeof LISTS)[number]
  readonly pageToken: string
  readonly pageSize: number
}

function list({ system }: World, { list: what, pageToken, pageSize }: PageCase): Promise<unknown> {
  const page = { pageToken, pageSize }
  const call = { idempotent: true }
  const { operator, grantOperator, limits } = system
  switch (what) {
    case 'accounts':
      return callUnary(operator, 'listAccounts', { ...page, name: '' }, call)
    case 'wallet addresses':
      return callUnary(operator, 'listWalletAddresses', page, call)
    case 'incoming payments':
    case 'outgoing payments':
      return callUnary(
        operator,
        'listPayments',
        { ...page, kind: PAYMENT_KINDS[what], walletAddress: '' },
        call
      )
    case 'grants':
      return callUnary(
        grantOperator,
        'listGrants',
        { ...page, identifier: '', clientWalletAddress: '', state: auth.GrantState.GRANT_STATE_UNSPECIFIED },
        call
      )
    case 'open reservations':
      return callUnary(limits, 'listOpenReservations', { ...page, olderThanSeconds: 0 }, call)
  }
}

/** Lists that operators read page by page. */
export function pageTargets(world: () => World): readonly AnyTarget[] {
  return [
    target({
      name: 'page tokens over gRPC',
      share: 10,
      acceptedMin: 0.05,
      cases: fc.record({
        list: fc.constantFrom(...LISTS),
        pageToken: fc.oneof(
          { weight: 1, arbitrary: fc.constant('') },
          { weight: 9, arbitrary: pageTokens(PAGE_TOKEN_LENGTH_MAX) }
        ),
        pageSize: fc.constantFrom(0, 1, 2, 1_000, 1_001, 4_294_967_295)
      }),
      async attack(input) {
        try {
          await list(world(), input)
          return ACCEPTED
        } catch (error) {
          if (isRpcError(error, status.INVALID_ARGUMENT)) return 'INVALID_ARGUMENT'
          throw error
        }
      }
    })
  ]
}
