import type { Answer } from '@open-payments-server/testing'
import { PUBLIC_URL, type TestAuthServer, type TestClient } from './auth-server.js'

/** The finish URL of the tests' client. */
export const FINISH_URI = 'https://shop.test/return?order=7'
export const CLIENT_NONCE = 'the-nonce-of-the-client'

/** Differences from the ordinary grant request. */
export interface GrantRequestOptions {
  readonly limits?: Record<string, unknown>
  /** Whether the request has `interact.finish`. */
  readonly finish?: Record<string, unknown> | false
  readonly subject?: unknown
  /** Whether the request has `access_token`. */
  readonly access?: false
}

/** A grant that waits for consent. */
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

/** Publishes a wallet address whose grants this server decides. */
export function createAccountHolder(auth: TestAuthServer, name = 'alice'): string {
  return auth.wallet.setWalletAddress(name, { publicName: name, authServer: PUBLIC_URL })
}

/** Requests outgoing payments, up to the point of consent. */
export async function requestPendingGrant(
  auth: TestAuthServer,
  client: TestClient,
  options: GrantRequestOptions = {}
): Promise<PendingGrant> {
  const body = outgoingPaymentRequest(client.walletAddress, createAccountHolder(auth), options)
  return requestGrant(client, body)
}

/** Requests a grant, up to the point of consent. */
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

/** Decides for the account holder. */
export async function decide(
  auth: TestAuthServer,
  grant: PendingGrant,
  choice: 'accept' | 'reject',
  body?: unknown
): Promise<Answer> {
  const path = `/grant/${grant.interactionId}/${grant.nonce}/${choice}`
  return auth.identityProvider('POST', path, { body })
}

/** Goes through the interaction like the browser. Returns the URL where the browser ends. */
export async function finishInBrowser(auth: TestAuthServer, grant: PendingGrant): Promise<Answer> {
  const cookie = await startInBrowser(auth, grant)
  return auth.send('GET', finishUrl(grant), { cookie })
}

/** Starts the interaction like the browser. Returns the browser's cookie. */
export async function startInBrowser(auth: TestAuthServer, grant: PendingGrant): Promise<string> {
  const answer = await auth.send('GET', grant.redirect)
  const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';')
  return cookie
}

/**
 * The URL to which the consent page sends the browser.
 *
 * @param code the finish code, if the approval returned one
 */
export function finishUrl(grant: PendingGrant, code?: string): string {
  const url = `${PUBLIC_URL}interact/${grant.interactionId}/${grant.nonce}/finish`
  return code === undefined ? url : `${url}?code=${encodeURIComponent(code)}`
}

/** The account holder consents in a browser that gets a finish code. Returns the code. */
export async function acceptWithFinishCode(auth: TestAuthServer, grant: PendingGrant): Promise<string> {
  return (await decide(auth, grant, 'accept', { finishCode: true })).textAt('finishCode')
}

/** The account holder consents and the browser comes back. Returns the interaction reference. */
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

/** Issues a grant for incoming payments, which needs no consent. */
export async function issueGrant(client: TestClient): Promise<Answer> {
  return client.request('POST', PUBLIC_URL, {
    body: {
      client: { walletAddress: client.walletAddress },
      access_token: { access: [{ type: 'incoming-payment', actions: ['create', 'read'] }] }
    }
  })
}
