import type { Answer } from '@open-payments-server/testing'
import { PUBLIC_URL, type TestAuthServer, type TestClient } from './auth-server.js'

/** Where the client of the tests wants the browser to come back to. */
export const FINISH_URI = 'https://shop.test/return?order=7'
export const CLIENT_NONCE = 'the-nonce-of-the-client'

/** How a grant request differs from the ordinary one. */
export interface GrantRequestOptions {
  readonly limits?: Record<string, unknown>
  /** Whether the client asks to be told when the interaction is over. */
  readonly finish?: Record<string, unknown> | false
  readonly subject?: unknown
  /** Whether access is asked for. */
  readonly access?: false
}

/** A grant that waits for the account holder. */
export interface PendingGrant {
  readonly answer: Answer
  readonly continueUri: string
  readonly continuationToken: string
  readonly interactionId: string
  readonly nonce: string
  /** Where the browser is sent. */
  readonly redirect: string
}

/** The body of a request for outgoing payments from a wallet address. */
export function outgoingPaymentRequest(
  client: string,
  identifier: string,
  { limits, finish = {}, subject, access }: GrantRequestOptions = {}
): Record<string, unknown> {
  return {
    client,
    ...(access === false
      ? {}
      : {
          access_token: {
            access: [
              {
                type: 'outgoing-payment',
                actions: ['create', 'read'],
                identifier,
                ...(limits === undefined ? {} : { limits })
              }
            ]
          }
        }),
    ...(subject === undefined ? {} : { subject }),
    interact: {
      start: ['redirect'],
      ...(finish === false
        ? {}
        : { finish: { method: 'redirect', uri: FINISH_URI, nonce: CLIENT_NONCE, ...finish } })
    }
  }
}

/** Publishes the wallet address of an account holder whose grants are decided here. */
export function createAccountHolder(auth: TestAuthServer, name = 'alice'): string {
  return auth.wallet.setWalletAddress(name, { publicName: name, authServer: PUBLIC_URL })
}

/** Asks for outgoing payments, up to the point where the account holder is asked. */
export async function requestPendingGrant(
  auth: TestAuthServer,
  client: TestClient,
  options: GrantRequestOptions = {}
): Promise<PendingGrant> {
  const body = outgoingPaymentRequest(client.walletAddress, createAccountHolder(auth), options)
  return requestGrant(client, body)
}

/** Asks for a grant, up to the point where the account holder is asked. */
export async function requestGrant(client: TestClient, body: Record<string, unknown>): Promise<PendingGrant> {
  const answer = await client.request('POST', PUBLIC_URL, { body })
  const redirect = answer.textAt('interact.redirect')
  const [, , interactionId = '', nonce = ''] = new URL(redirect).pathname.split('/')
  return {
    answer,
    redirect,
    interactionId,
    nonce,
    continueUri: answer.textAt('continue.uri'),
    continuationToken: answer.textAt('continue.access_token.value')
  }
}

/** Answers for the account holder. */
export async function decide(
  auth: TestAuthServer,
  grant: PendingGrant,
  choice: 'accept' | 'reject',
  body?: unknown
): Promise<Answer> {
  const path = `/grant/${grant.interactionId}/${grant.nonce}/${choice}`
  return auth.identityProvider('POST', path, { body })
}

/** Goes through the interaction as the browser does. Answers where the browser ends up. */
export async function finishInBrowser(auth: TestAuthServer, grant: PendingGrant): Promise<Answer> {
  const cookie = await startInBrowser(auth, grant)
  return auth.send('GET', finishUrl(grant), { cookie })
}

/** Starts the interaction as the browser does. Answers the cookie the browser then has. */
export async function startInBrowser(auth: TestAuthServer, grant: PendingGrant): Promise<string> {
  const answer = await auth.send('GET', grant.redirect)
  const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';')
  return cookie
}

/**
 * Where the consent page sends the browser.
 *
 * @param code what the approval handed out, if it did
 */
export function finishUrl(grant: PendingGrant, code?: string): string {
  const url = `${PUBLIC_URL}interact/${grant.interactionId}/${grant.nonce}/finish`
  return code === undefined ? url : `${url}?code=${encodeURIComponent(code)}`
}

/** The account holder agrees in a browser that the consent page gives a code to. Answers the code. */
export async function acceptWithFinishCode(auth: TestAuthServer, grant: PendingGrant): Promise<string> {
  return (await decide(auth, grant, 'accept', { finishCode: true })).textAt('finishCode')
}

/** The account holder agrees and the browser comes back. Answers the interaction reference. */
export async function approve(auth: TestAuthServer, grant: PendingGrant): Promise<string> {
  const cookie = await startInBrowser(auth, grant)
  await decide(auth, grant, 'accept')
  const answer = await auth.send('GET', finishUrl(grant), { cookie })
  return new URL(answer.headers.get('location') ?? '').searchParams.get('interact_ref') ?? ''
}

/** Continues a grant as its client. */
export async function continueGrant(
  client: Pick<TestClient, 'request'>,
  grant: Pick<PendingGrant, 'continueUri' | 'continuationToken'>,
  interactionReference?: string
): Promise<Answer> {
  return client.request('POST', grant.continueUri, {
    accessToken: grant.continuationToken,
    body: interactionReference === undefined ? undefined : { interact_ref: interactionReference }
  })
}

/** Issues a grant for incoming payments, for which nobody need be asked. */
export async function issueGrant(client: TestClient): Promise<Answer> {
  return client.request('POST', PUBLIC_URL, {
    body: {
      client: { walletAddress: client.walletAddress },
      access_token: { access: [{ type: 'incoming-payment', actions: ['create', 'read'] }] }
    }
  })
}
