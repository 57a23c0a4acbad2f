import { counting, type Metrics } from '@open-payments-server/service-kit/metrics'
import { GRANT_EVENTS, type GrantCounters, INTERACTION_EVENTS, TOKEN_EVENTS } from '../domain/counters.js'
import type { AcceptGrantService } from '../features/accept-grant/accept-grant.js'
import type { CancelGrantService } from '../features/end-grant/cancel-grant.js'
import type { ContinueGrantService } from '../features/continue-grant/continue-grant.js'
import type { FinishInteractionService } from '../features/finish-interaction/finish-interaction.js'
import type { RejectGrantService } from '../features/end-grant/reject-grant.js'
import type { RequestGrantService } from '../features/request-grant/request-grant.js'
import type { RevokeTokenService } from '../features/revoke-token/revoke-token.js'
import type { RotateTokenService } from '../features/rotate-token/rotate-token.js'
import type { StartInteractionService } from '../features/start-interaction/start-interaction.js'

/** Publishes the metrics of grants, their interactions and their tokens, see `docs/metrics.md`. */
export function publishGrants(metrics: Pick<Metrics, 'addCounters'>): GrantCounters {
  return {
    countGrant: metrics.addCounters(
      { name: 'open_payments_grants_total', help: 'Grants, by what happened to them.' },
      'event',
      GRANT_EVENTS
    ),
    countInteraction: metrics.addCounters(
      { name: 'open_payments_interactions_total', help: 'Interactions, by what happened in them.' },
      'event',
      INTERACTION_EVENTS
    ),
    countToken: metrics.addCounters(
      { name: 'open_payments_tokens_total', help: 'Tokens, by what their holders did with them.' },
      'event',
      TOKEN_EVENTS
    )
  }
}

type Services = RequestGrantService &
  ContinueGrantService &
  CancelGrantService &
  RotateTokenService &
  RevokeTokenService &
  StartInteractionService &
  FinishInteractionService &
  AcceptGrantService &
  RejectGrantService

/** Wraps each service to count its successes. */
type Counted<Names extends keyof Services> = {
  readonly [Name in Names]: (service: Readonly<Pick<Services, Name>>) => Readonly<Pick<Services, Name>>
}

/** Counts what clients do with their grants and tokens. */
export function countGrants(
  counters: GrantCounters
): Counted<'requestGrant' | 'continueGrant' | 'cancelGrant' | 'rotateToken' | 'revokeToken'> {
  return {
    requestGrant: (service) => ({
      requestGrant: counting(
        (...asked) => service.requestGrant(...asked),
        ({ access_token: token }) => {
          counters.countGrant('requested')
          counters.countGrant(token === undefined ? 'pending' : 'granted')
        }
      )
    }),
    continueGrant: (service) => ({
      continueGrant: counting(
        (...asked) => service.continueGrant(...asked),
        ({ continue: { wait } }) => {
          if (wait === undefined) counters.countGrant('granted')
        }
      )
    }),
    cancelGrant: (service) => ({
      cancelGrant: counting(
        (...asked) => service.cancelGrant(...asked),
        () => {
          counters.countGrant('revoked')
        }
      )
    }),
    rotateToken: (service) => ({
      rotateToken: counting(
        (...asked) => service.rotateToken(...asked),
        () => {
          counters.countToken('rotated')
        }
      )
    }),
    revokeToken: (service) => ({
      revokeToken: counting(
        (...asked) => service.revokeToken(...asked),
        () => {
          counters.countToken('revoked')
        }
      )
    })
  }
}

/** Counts what account holders do in interactions, and the grants that end there. */
export function countInteractions(
  counters: GrantCounters
): Counted<'startInteraction' | 'finishInteraction' | 'acceptGrant' | 'rejectGrant'> {
  return {
    startInteraction: (service) => ({
      startInteraction: counting(
        (...asked) => service.startInteraction(...asked),
        ({ cookie }) => {
          // Only the first browser gets one, and only once.
          if (cookie !== undefined) counters.countInteraction('started')
        }
      )
    }),
    finishInteraction: (service) => ({
      finishInteraction: counting(
        (...asked) => service.finishInteraction(...asked),
        () => {
          counters.countInteraction('finished')
        }
      )
    }),
    acceptGrant: (service) => ({
      acceptGrant: counting(
        (...asked) => service.acceptGrant(...asked),
        () => {
          counters.countInteraction('accepted')
        }
      )
    }),
    rejectGrant: (service) => ({
      rejectGrant: counting(
        (...asked) => service.rejectGrant(...asked),
        () => {
          counters.countInteraction('rejected')
          counters.countGrant('rejected')
        }
      )
    })
  }
}
