import { type ReceivedSignature, SignatureError } from '@open-payments-server/http-signatures'
import type { ImportedKey } from '@open-payments-server/service-kit/signatures'
import { hashSecret, newId, randomSecret } from '@open-payments-server/value-types/identifiers'
import { type ConfiguredInteraction, needsInteraction } from '../../domain/access.js'
import type { ClientAuthenticator } from '../authentication.js'
import {
  type BoundClient,
  cannotResolve,
  type ClientDirectory,
  DocumentUnavailable,
  keysUrlOf,
  spelledOtherwise
} from '../../domain/clients.js'
import type { AuthenticationFailureCounter, GrantCounters } from '../../domain/counters.js'
import { clientFrozen, invalidField, unresolvedClient } from '../../domain/errors.js'
import type { AccessTokenWire, ContinueWire } from '../../domain/grants.js'
import type { FinishRequest } from '../../domain/interactions.js'
import { makeToken, type TokenMaker } from '../../domain/new-token.js'
import { normalizeWalletAddress, withQuery } from '../../domain/urls.js'
import type { NewGrant } from '../../modules/grants/index.js'
import type { TokenHolders } from '../../modules/tokens/index.js'
import type { BeginGrant } from './begin-grants.js'
import { checkConsentable, checkFinishUri, checkIdentifiers, type Consent } from './request-checks.js'
import type { GrantRequest, RequestingClient } from './request.js'

/** The answer to a grant request (RFC 9635 §3): a token at once, or where to send the account holder. */
export interface GrantResponse {
  access_token?: AccessTokenWire
  interact?: { redirect: string; finish: string }
  continue: ContinueWire
}

/** What requesting grants needs. */
export interface RequestGrantDependencies extends TokenMaker {
  readonly authenticator: Pick<ClientAuthenticator, 'verify' | 'importKey'>
  readonly directory: ClientDirectory
  readonly beginGrant: BeginGrant
  readonly tokenHolders: Pick<TokenHolders, 'remember'>
  readonly configuredInteraction: ConfiguredInteraction
  readonly allowHttp: boolean
  /** Origins of this provider's own wallet addresses. */
  readonly ownOrigins: readonly string[]
  readonly interactionLifetimeSeconds: number
  readonly continuationWaitSeconds: number
  readonly counters: Pick<GrantCounters, 'countGrant'> & {
    readonly countAuthenticationFailure: AuthenticationFailureCounter
  }
}

/** A grant request, read. */
export interface ReceivedGrantRequest {
  readonly grantRequest: GrantRequest
  /** The request's signature, not verified yet. */
  readonly signature: ReceivedSignature
}

/**
 * Decides a grant request (RFC 9635 §2).
 *
 * @throws Refusal `unresolved-client`, `invalid-signature`, `client-frozen`, or `invalid-field` naming it; `host-unavailable`
 */
export async function requestGrant(
  { grantRequest: request, signature }: ReceivedGrantRequest,
  dependencies: RequestGrantDependencies
): Promise<GrantResponse> {
  const { directory, configuredInteraction } = dependencies
  const key = await findKey(request.client, signature.keyId, dependencies)
  await dependencies.authenticator.verify(signature, key)
  if (request.client.kind === 'wallet-address') directory.vouchFor(request.client.walletAddress)
  await checkIdentifiers(request, dependencies.ownOrigins, directory)
  const interactive = request.subject !== undefined || needsInteraction(request.access, configuredInteraction)
  if (!interactive) return issueAtOnce(request, await holderOf(request.client, key), dependencies)
  const clientWalletAddress = checkMayInteract(request, dependencies.allowHttp)
  const consent = await checkConsentable(
    request,
    (item) => needsInteraction([item], configuredInteraction),
    dependencies.addresses.grantEndpoint,
    directory
  )
  const clientName = await findClientName(clientWalletAddress, dependencies)
  const shown = { name: clientName, uri: clientWalletAddress }
  return startInteraction(request, consent, await holderOf(request.client, key), shown, dependencies)
}

async function findKey(
  client: RequestingClient,
  keyId: string,
  { directory, authenticator, counters }: RequestGrantDependencies
): Promise<ImportedKey> {
  if (client.kind === 'key') return authenticator.importKey(client.jwk)
  try {
    const key = await directory.findKey(client.walletAddress, keyId)
    if (key !== undefined) return await authenticator.importKey(key)
  } catch (error) {
    if (!(error instanceof DocumentUnavailable)) throw error
    counters.countAuthenticationFailure('client')
    const url = keysUrlOf(client.walletAddress)
    throw cannotResolve({ document: "the client's keys", url, isProven: false }, error)
  }
  const problem = 'the client publishes no key with the keyid of the signature'
  counters.countAuthenticationFailure('key')
  throw unresolvedClient(problem, new SignatureError('key', problem))
}

/** Returns the client's wallet address, once it is certain that the account holder can be asked. */
function checkMayInteract(request: GrantRequest, allowHttp: boolean): string {
  if (request.client.kind === 'key') {
    throw unresolvedClient(
      'this access needs the account holder, and a client known by its key alone cannot ask for it'
    )
  }
  if (request.interact === undefined) {
    throw invalidField('interact', 'this access needs the account holder')
  }
  if (request.interact.finish !== undefined) checkFinishUri(request.interact.finish.uri, allowHttp)
  return request.client.walletAddress
}

/**
 * The name shown to the account holder; the client's address if it publishes none.
 *
 * @throws Refusal `unresolved-client` for a client whose wallet address says that it is another one; `host-unavailable`
 */
async function findClientName(
  walletAddress: string,
  { directory, counters }: Pick<RequestGrantDependencies, 'directory' | 'counters'>
): Promise<string> {
  try {
    const { id, publicName } = await directory.getWalletAddress(walletAddress)
    if (id !== undefined && normalizeWalletAddress(id) !== walletAddress) {
      counters.countAuthenticationFailure('client')
      throw spelledOtherwise(id)
    }
    return publicName ?? walletAddress
  } catch (error) {
    if (!(error instanceof DocumentUnavailable)) throw error
    counters.countAuthenticationFailure('client')
    throw cannotResolve(
      { document: "the client's wallet address", url: walletAddress, isProven: true },
      error
    )
  }
}

async function holderOf(client: RequestingClient, key: ImportedKey): Promise<BoundClient> {
  const keyFields = { keyId: key.kid, keyX: key.x }
  return client.kind === 'wallet-address'
    ? { walletAddress: client.walletAddress, jwkThumbprint: undefined, ...keyFields }
    : { walletAddress: undefined, jwkThumbprint: await key.jwkThumbprint(), ...keyFields }
}

async function issueAtOnce(
  request: GrantRequest,
  holder: BoundClient,
  dependencies: RequestGrantDependencies
): Promise<GrantResponse> {
  const token = makeToken(dependencies)
  const { grant, continuation } = makeGrant(request, holder, dependencies)
  const begun = await dependencies.beginGrant({
    grant: { ...grant, state: 'issued', aliveUntilMs: token.expiresAtMs },
    token
  })
  if (!begun) throw clientFrozen()
  countRequested('granted', dependencies)
  dependencies.tokenHolders.remember({ id: token.id, secretHash: token.hash, holder })
  return { access_token: token.tellClient(request.access), continue: continuation }
}

async function startInteraction(
  request: GrantRequest,
  { walletAddress, access }: Consent,
  holder: BoundClient,
  shown: { readonly name: string; readonly uri: string },
  dependencies: RequestGrantDependencies
): Promise<GrantResponse> {
  const { addresses, clock, random, continuationWaitSeconds, interactionLifetimeSeconds } = dependencies
  const interaction = {
    id: newId(clock, random),
    walletAddress,
    nonce: randomSecret(random),
    reference: randomSecret(random),
    expiresAtMs: clock.now() + interactionLifetimeSeconds * 1_000
  }
  const { grant, continuation } = makeGrant({ ...request, access }, holder, dependencies)
  const begun = await dependencies.beginGrant({
    grant: {
      ...grant,
      state: 'pending',
      clientName: shown.name,
      finish: finishOf(request),
      continueAfterMs: clock.now() + continuationWaitSeconds * 1_000,
      aliveUntilMs: interaction.expiresAtMs
    },
    interaction
  })
  if (!begun) throw clientFrozen()
  countRequested('pending', dependencies)
  return {
    interact: {
      redirect: withQuery(addresses.interactUri(interaction.id, interaction.nonce), {
        clientName: shown.name,
        clientUri: shown.uri
      }),
      finish: interaction.nonce
    },
    continue: { ...continuation, wait: continuationWaitSeconds }
  }
}

function countRequested(answer: 'granted' | 'pending', { counters }: RequestGrantDependencies): void {
  counters.countGrant('requested')
  counters.countGrant(answer)
}

function finishOf({ interact }: GrantRequest): FinishRequest | undefined {
  const finish = interact?.finish
  return finish && { uri: finish.uri, nonce: finish.nonce, hashMethod: finish.hash_method }
}

/** The fields of every new grant, and how its client continues it. */
function makeGrant(
  { access, subject }: Pick<GrantRequest, 'access' | 'subject'>,
  holder: BoundClient,
  { addresses, clock, random }: TokenMaker
): { readonly grant: Omit<NewGrant, 'state' | 'aliveUntilMs'>; readonly continuation: ContinueWire } {
  const id = newId(clock, random)
  const continuationToken = randomSecret(random)
  return {
    grant: {
      id,
      holder,
      continuationTokenHash: hashSecret(continuationToken),
      access: access.map((item) => ({ ...item, id: newId(clock, random) })),
      subject,
      createdAtMs: clock.now()
    },
    continuation: { access_token: { value: continuationToken }, uri: addresses.continueUri(id) }
  }
}
