import { z } from 'zod'

/** Somebody who can sign in. */
const personSchema = z.object({
  username: z.string().min(1).max(64),
  /** In plain text: this issuer is for development alone. */
  password: z.string().min(1).max(256),
  /** Who this is to clients, for ever: `sub` of ID tokens. Opaque: printable ASCII characters. */
  sub: z.string().regex(/^[\x21-\x7e]{1,255}$/),
  /** The claim `name`. */
  name: z.string().min(1).max(256),
  email: z.email().optional(),
  /** The claim `roles`, of operators. */
  roles: z.array(z.string().min(1)).optional(),
  /** The claim `accounts`, where it says who holds which. */
  accounts: z.array(z.string().min(1)).optional()
})

/**
 * A client, which authenticates by `client_secret_basic`. Without a secret it is a program of the person who signs in (RFC 8252): its
 * redirect URIs on loopback are good with every port.
 */
const clientSchema = z.object({
  clientId: z.string().min(1),
  clientSecret: z.string().min(16).optional(),
  redirectUris: z.array(z.url()).min(1),
  postLogoutRedirectUris: z.array(z.url()).default([]),
  /** Where it is told that somebody has signed out (OpenID Connect Back-Channel Logout 1.0). */
  backchannelLogoutUri: z.url().optional()
})

/** What a development issuer is started with. */
export const issuerOptionsSchema = z.object({
  /** Address that it binds to; loopback unless given. */
  host: z.string().min(1).default('localhost'),
  /** `iss`, where browsers and clients reach it; `http://localhost:<port>` unless given. */
  url: z.url({ protocol: /^https?$/ }).optional(),
  /** TCP port; 0 or nothing for any free one. */
  port: z.number().int().min(0).max(65_535).optional(),
  people: z.array(personSchema).min(1),
  clients: z.array(clientSchema).min(1),
  /** Types of `authorization_details` that it takes (RFC 9396). */
  authorizationDetailsTypes: z.array(z.string().min(1)).default([]),
  /** Whether the sign-in page also has a button for each of the people, which needs no password. */
  withoutPassword: z.boolean().default(false),
  /** Where its keys are kept, so that ID tokens verify after a restart. Without it every start makes new ones. */
  folder: z.string().min(1).optional()
})

/** What a development issuer is started with, as it is written. */
export type DevelopmentIssuerOptions = z.input<typeof issuerOptionsSchema>

/** The same, read. */
export type IssuerOptions = z.output<typeof issuerOptionsSchema>

/** Somebody who can sign in. */
export type Person = IssuerOptions['people'][number]

/** A client of the issuer. */
export type IssuerClient = IssuerOptions['clients'][number]

/** Name of the environment variable with which its program is started: options as JSON. */
export const OPTIONS_VARIABLE = 'DEVELOPMENT_ISSUER'
