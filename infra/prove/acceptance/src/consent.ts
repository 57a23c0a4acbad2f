import { type Answer, send } from '@open-payments-server/testing'
import type { ConnectedSystem, TestClient } from './connect-system.js'

/** A pending grant, as its client keeps it. */
export interface PendingGrant {
  readonly continueUri: string
  readonly continuationToken: string
  /** Where the account holder's browser is sent. */
  readonly redirect: string
  /** The server's nonce. */
  readonly serverNonce: string
  readonly clientNonce: string
  /** How long the client must wait before it continues. */
  readonly waitSeconds: number
}

/** Limits of an outgoing-payment access item, as on the wire. */
export type Limits = Record<string, unknown>

/** Where the browser is sent back to; nothing listens there, the tests read the redirect. */
export const FINISH_URI = 'http://localhost:2/finish?order=17'

/** Requests a grant that needs no consent. Returns its token. */
export async function requestToken(
  system: ConnectedSystem,
  client: TestClient,
  access: object[]
): Promise<string> {
  const answer = await client.request('POST', system.authServerUrl, {
    body: { client: client.walletAddress, access_token: { access } }
  })
  return answer.textAt('access_token.value')
}

/** An outgoing-payment access item of alice, unless told otherwise. */
export function outgoingAccess(
  system: ConnectedSystem,
  limits?: Limits,
  walletAddress = system.walletAddresses.alice
): object {
  return {
    type: 'outgoing-payment',
    actions: ['create', 'read', 'list'],
    identifier: walletAddress,
    ...(limits === undefined ? {} : { limits })
  }
}

/** Requests a grant that needs consent. */
export async function requestInteractiveGrant(
  system: ConnectedSystem,
  client: TestClient,
  access: object[],
  finish: object | undefined = { method: 'redirect', uri: FINISH_URI, nonce: 'client-nonce' }
): Promise<PendingGrant> {
  const answer = await client.request('POST', system.authServerUrl, {
    body: {
      client: client.walletAddress,
      access_token: { access },
      interact: { start: ['redirect'], ...(finish === undefined ? {} : { finish }) }
    }
  })
  return readPendingGrant(answer, 'client-nonce')
}

/** Reads the answer to a grant request that needs consent. */
export function readPendingGrant(answer: Answer, clientNonce = ''): PendingGrant {
  return {
    continueUri: answer.textAt('continue.uri'),
    continuationToken: answer.textAt('continue.access_token.value'),
    redirect: answer.textAt('interact.redirect'),
    serverNonce: answer.textAt('interact.finish'),
    clientNonce,
    waitSeconds: Number(answer.at('continue.wait') ?? 0)
  }
}

/** An interaction that a browser has opened. */
export interface OpenInteraction {
  readonly id: string
  readonly nonce: string
  /** Value of the `Cookie` header of that browser. */
  readonly cookie: string
}

/** The account holder's browser follows the client's link; from then on only this browser may continue. */
export async function openInteraction(
  system: ConnectedSystem,
  { redirect }: Pick<PendingGrant, 'redirect'>
): Promise<OpenInteraction> {
  const opened = await send('GET', system.reach(redirect))
  const { searchParams } = destinationOf(opened)
  return {
    id: searchParams.get('interactId') ?? '',
    nonce: searchParams.get('nonce') ?? '',
    cookie: (opened.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  }
}

/** The account holder's browser and identity provider: starts, decides, finishes. Returns the URL where the browser ends. */
export async function interact(
  system: ConnectedSystem,
  grant: Pick<PendingGrant, 'redirect'>,
  choice: 'accept' | 'reject'
): Promise<URL> {
  const { id, nonce, cookie } = await openInteraction(system, grant)
  const chosen = await send('POST', `${system.identityProviderUrl()}/grant/${id}/${nonce}/${choice}`, {
    'x-idp-secret': system.identityProviderSecret
  })
  if (chosen.status !== 202)
    throw new Error(`the choice was answered with ${String(chosen.status)} ${chosen.text}`)
  const finished = await send('GET', system.reach(`${system.authServerUrl}interact/${id}/${nonce}/finish`), {
    cookie
  })
  return destinationOf(finished)
}

/** Where an answer sends the browser. */
function destinationOf({ status, headers, text }: Answer): URL {
  const location = headers.get('location')
  if (location === null) throw new Error(`the browser was answered with ${String(status)} ${text}`)
  return new URL(location)
}

/** Goes through all steps to a token of an outgoing-payment grant. */
export async function consentedToken(
  system: ConnectedSystem,
  client: TestClient,
  access: object[]
): Promise<{ token: string; manage: string; grant: PendingGrant }> {
  const grant = await requestInteractiveGrant(system, client, access)
  const finished = await interact(system, grant, 'accept')
  await system.passSeconds(grant.waitSeconds)
  const answer = await client.request('POST', grant.continueUri, {
    accessToken: grant.continuationToken,
    body: { interact_ref: finished.searchParams.get('interact_ref') }
  })
  return { token: answer.textAt('access_token.value'), manage: answer.textAt('access_token.manage'), grant }
}
