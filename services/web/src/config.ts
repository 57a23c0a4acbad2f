import {
  type Environment,
  grpcClientSettings,
  loadConfiguration,
  metricsSettings,
  processSettings,
  publicListenerSettings,
  setting,
  sharedStoreSettings,
  shutdownSettings,
  telemetrySettings
} from '@open-payments-server/runtime/configuration'
import { z } from 'zod'

const { REPLICA_COUNT, ...process } = processSettings({
  development: 'http URLs, and gRPC in plain text on this machine'
})

/** By what both services know the pages. */
const KNOWN_BY =
  'A name in it is among GRPC_HOLDER_CLIENTS there for the pages of account holders, and among GRPC_OPERATOR_CLIENTS for a console.'

/** Settings that the pages of account holders have alone. */
const pagesSettings = {
  PUBLIC_URL: setting
    .origins({
      description:
        'Origin of the pages of account holders, as browsers reach them. Consent is at `/consent`. Without it there is only the console.',
      example: 'https://pages.wallet.example'
    })
    .optional(),
  CLIENT_ID: setting
    .text({
      description:
        'Client id of the pages of account holders at ISSUER. Its redirect URI is `/signed-in`. Required with PUBLIC_URL.',
      example: 'consent-page'
    })
    .optional(),
  CLIENT_SECRET: setting
    .secret({
      description: 'Secret of that client (`client_secret_basic`); a public client without.',
      example: 'a-long-random-text-for-the-issuer'
    })
    .optional(),
  HOLDER_CLAIM: setting
    .text({
      description:
        'HOLDER_CLAIM of the resource server, if it has one: the claim of the ID token that names accounts.',
      example: 'accounts'
    })
    .optional(),
  CONSENT_DETAILS_TYPE: setting
    .text({
      description:
        'Type of `authorization_details` (RFC 9396) by which the issuer is told what somebody consents to. Sent where the issuer lists it in `authorization_details_types_supported`. See [consent pages](consent-pages.md#what-the-issuer-is-told).',
      example: 'payment_initiation'
    })
    .optional(),
  AUTH_API_URL: setting
    .url({
      description: "URL of the auth server's identity-provider listener. Required with PUBLIC_URL.",
      example: 'http://auth-server:3001'
    })
    .optional(),
  IDENTITY_PROVIDER_SECRET: setting
    .secret({
      description: 'IDENTITY_PROVIDER_SECRET of the auth server. Required with PUBLIC_URL.',
      example: 'a-long-random-text'
    })
    .optional()
}

/** Settings that the console has alone. */
const consoleSettings = {
  CONSOLE_HOST: setting
    .text({ description: 'Address the console binds to. Not for the internet.', example: '0.0.0.0' })
    .prefault('127.0.0.1'),
  CONSOLE_PORT: setting
    .port({ description: 'Port of the console of operators. Without it there is none.', example: '3010' })
    .optional(),
  CONSOLE_URL: setting
    .origins({
      description: 'Origin of the console, as browsers reach it. Required with CONSOLE_PORT.',
      example: 'https://console.wallet.internal'
    })
    .optional(),
  CONSOLE_ISSUER: setting
    .url({
      description: 'Issuer where operators sign in. Default: ISSUER.',
      example: 'https://login.wallet.internal'
    })
    .optional(),
  CONSOLE_CLIENT_ID: setting
    .text({
      description: 'Client id of the console at its issuer. Required with CONSOLE_PORT.',
      example: 'console'
    })
    .optional(),
  CONSOLE_CLIENT_SECRET: setting
    .secret({ description: 'Secret of that client.', example: 'a-long-random-text-for-the-console' })
    .optional(),
  CONSOLE_ROLES_CLAIM: setting
    .text({
      description: 'Claim of the ID token with the roles of an operator: `viewer`, `operator`, `approver`.',
      example: 'roles'
    })
    .prefault('roles')
}

/** The settings of the pages of account holders and of the console: one environment variable each. */
export const webSchema = z.object({
  ...process,
  REPLICA_COUNT,
  ...publicListenerSettings({ port: 'Port of the pages of account holders.' }),
  ...pagesSettings,
  ...consoleSettings,
  ISSUER: setting.url({
    description:
      'OpenID Connect issuer where people sign in, exactly as in `iss`. Account holders: one of CONSENT_ISSUERS of the auth server.',
    example: 'https://login.wallet.example'
  }),
  SCOPE: setting
    .text({
      description: 'Scopes that are asked of the issuer, separated by spaces.',
      example: 'openid profile'
    })
    .prefault('openid profile'),
  SESSION_KEY: setting.secret({
    description:
      'Key with which cookies are encrypted. The same on every replica. Whoever knows it can sign in as anybody.',
    example: 'a-long-random-text-for-sessions'
  }),
  SESSION_KEYS_OTHER: setting
    .secretList({
      description:
        'Other keys that cookies may have been encrypted with, separated by commas: the next value of SESSION_KEY, on every replica before the first one uses it, and the earlier one until its sessions have ended.',
      example: 'an-earlier-long-random-text-for-sessions'
    })
    .optional(),
  SESSION_LIFETIME_SECONDS: setting
    .wholeNumber(
      { description: 'How long somebody stays signed in, in seconds.', example: '7200' },
      { min: 60, max: 86_400 }
    )
    .prefault('7200'),
  ...grpcClientSettings('RESOURCE', { service: 'resource server', knownBy: KNOWN_BY }),
  ...grpcClientSettings('AUTH', { service: 'auth server', knownBy: KNOWN_BY }),
  PROVIDER_NAME: setting
    .text({ description: 'Name of the provider, at the top of every page.', example: 'Example Wallet' })
    .prefault('Your wallet'),
  BRAND_COLOR: setting
    .text({
      description: 'Colour of buttons on light pages: `#` and six hexadecimal digits.',
      example: '#0b5d51'
    })
    .regex(/^#[0-9a-f]{6}$/i, { message: 'expected # and six hexadecimal digits' })
    .prefault('#0b5d51'),
  BRAND_COLOR_DARK: setting
    .text({ description: 'The same on dark pages.', example: '#7ad9c5' })
    .regex(/^#[0-9a-f]{6}$/i, { message: 'expected # and six hexadecimal digits' })
    .prefault('#7ad9c5'),
  LOGO_FILE: setting
    .text({ description: 'Logo at the top of every page: an SVG file.', example: '/etc/pages/logo.svg' })
    .optional(),
  TIME_ZONE: setting
    .text({ description: 'Time zone in which dates are shown (IANA).', example: 'Europe/Berlin' })
    .refine(isTimeZone, { message: 'expected a time zone such as Europe/Berlin' })
    .prefault('UTC'),
  ...metricsSettings,
  ...telemetrySettings,
  ...sharedStoreSettings,
  ...shutdownSettings
})

/**
 * Of each listener the settings that it has alone, and those of them that it cannot do without: where the first of these is not set,
 * there is no such listener.
 */
export const LISTENER_SETTINGS = {
  pages: {
    own: Object.keys(pagesSettings),
    needed: ['PUBLIC_URL', 'CLIENT_ID', 'AUTH_API_URL', 'IDENTITY_PROVIDER_SECRET']
  },
  console: {
    own: Object.keys(consoleSettings),
    needed: ['CONSOLE_PORT', 'CONSOLE_URL', 'CONSOLE_CLIENT_ID']
  }
} as const

/** A listener: that of account holders, or that of operators. */
export type Listener = keyof typeof LISTENER_SETTINGS

/** The settings of the pages, parsed. */
export type WebConfig = Readonly<z.output<typeof webSchema>>

/** The same with what a listener needs. */
export type ConfigWith<Of extends Listener> = WebConfig & {
  readonly [Name in (typeof LISTENER_SETTINGS)[Of]['needed'][number]]: NonNullable<WebConfig[Name]>
}

/** Whether there is this listener. What it needs is there, too: else {@link refuseUnsafeStart} refuses. */
export function hasListener<Of extends Listener>(config: WebConfig, listener: Of): config is ConfigWith<Of> {
  return LISTENER_SETTINGS[listener].needed.every((name) => config[name] !== undefined)
}

/**
 * Reads the settings of the pages.
 *
 * @throws ConfigurationError naming every setting that is wrong
 */
export function loadConfig(environment: Environment): WebConfig {
  return loadConfiguration(webSchema, environment)
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}
