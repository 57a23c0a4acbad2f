import { once } from 'node:events'
import { createServer } from 'node:http'
import { randomBytes } from 'node:crypto'
import { Provider } from 'oidc-provider'

/** An OpenID Provider whose pages sign in anybody by any name, which becomes the `sub`. */
export interface TestIssuer {
  /** `iss` of its ID tokens. */
  readonly issuer: string
  stop(): Promise<void>
}

/** A client of the issuer. */
export interface IssuerClient {
  readonly id: string
  readonly secret: string
  /** Where its pages are. */
  readonly origin: string
}

/** Starts a real OpenID Provider. Its members of the claim `roles` are those of the operator. */
export async function startTestIssuer(port: number, clients: readonly IssuerClient[]): Promise<TestIssuer> {
  const issuer = `http://localhost:${String(port)}`
  const provider = new Provider(issuer, {
    clients: clients.map(({ id, secret, origin }) => ({
      client_id: id,
      client_secret: secret,
      redirect_uris: [`${origin}/signed-in`],
      post_logout_redirect_uris: [`${origin}/signed-out`]
    })),
    cookies: { keys: [randomBytes(32).toString('hex')] },
    claims: { openid: ['sub', 'roles'], profile: ['name'] },
    conformIdTokenClaims: false,
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: () => ({ sub, name: `${sub} <b>Example</b>`, roles: sub === 'operator' ? ['viewer'] : [] })
    }),
    loadExistingGrant: async (context) => {
      // Nobody is asked whether the pages may know their name.
      const { client, session, provider: of } = context.oidc
      const grant = new of.Grant({ clientId: client?.clientId ?? '', accountId: session?.accountId ?? '' })
      grant.addOIDCScope('openid profile')
      await grant.save()
      return grant
    }
  })
  const handle = provider.callback()
  const server = createServer((request, response) => void handle(request, response)).listen(port, 'localhost')
  await once(server, 'listening')
  return {
    issuer,
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    }
  }
}
