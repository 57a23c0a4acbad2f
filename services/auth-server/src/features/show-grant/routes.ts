import { payeesOf } from '@open-payments-server/value-types/intervals'
import { formatAccessItem } from '../../domain/access.js'
import { unknownInteraction } from '../../domain/errors.js'
import type { InteractionReader } from '../../domain/interactions.js'
import type { SignInRule } from '../../domain/sign-in-rule.js'
import { consentTerms } from '../consent-document.js'
import type { IdentityProviderRoute } from '../identity-provider-route.js'

/** Members of an access item that an acceptance may make less than they were asked. It may also leave out items. */
const MAY_CHANGE = ['actions', 'limits.debitAmount', 'limits.receiveAmount', 'limits.interval'] as const

/** What the route needs. */
export interface ShowGrantRouteDependencies {
  readonly interactions: InteractionReader
  readonly grantEndpoint: string
  readonly consentProof: 'none' | 'required' | 'either'
  readonly signInRule: SignInRule
}

/**
 * `GET /grant/{id}/{nonce}` for identity providers: what is requested, from whom, by whom, until when, what may be less, what a
 * proof of the consent is about, and what was decided. A cancelled grant requests nothing any more.
 */
export function showGrantRoute(dependencies: ShowGrantRouteDependencies): IdentityProviderRoute {
  const { interactions, grantEndpoint, consentProof, signInRule } = dependencies
  return {
    method: 'GET',
    path: '/grant/:id/:nonce',
    handle: async (request, response) => {
      const interaction = await interactions.find(request.params.id, request.params.nonce)
      if (interaction === undefined || interaction.grant.state === 'revoked') throw unknownInteraction()
      const { grant, state, walletAddress, expiresAtMs } = interaction
      response.json({
        grantId: grant.id,
        access: grant.access.map(formatAccessItem),
        ...(grant.subject === undefined ? {} : { subject: grant.subject }),
        walletAddress,
        payees: payeesOf(grant.access),
        state,
        endsAt: grant.endsAtMs === undefined ? null : new Date(grant.endsAtMs).toISOString(),
        expiresAt: new Date(expiresAtMs).toISOString(),
        client: grant.client,
        clientName: grant.clientName,
        returnOrigin: grant.finish === undefined ? null : new URL(grant.finish.uri).origin,
        mayChange: MAY_CHANGE,
        consentProof,
        signIn: consentProof === 'none' ? null : (signInRule(grant.access) ?? null),
        document: consentTerms(interaction, grant, grantEndpoint)
      })
    }
  }
}
