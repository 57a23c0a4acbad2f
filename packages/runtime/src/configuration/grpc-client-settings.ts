import * as setting from './settings.js'

/** Which service a connection over gRPC leads to, and what the settings say of it. */
export interface GrpcClientTexts {
  /** Its name for people, such as `auth server`. */
  readonly service: string
  /** By what it knows this service: a sentence about the names in the certificate. */
  readonly knownBy: string
}

/** Settings of a connection, by what stands behind `<prefix>_GRPC_`. */
type Prefixed<Prefix extends string, Settings> = {
  [Name in keyof Settings & string as `${Prefix}_GRPC_${Name}`]: Settings[Name]
}

/**
 * The connection to another service over gRPC.
 *
 * @param prefix which service, as its settings begin: `AUTH` for `AUTH_GRPC_TARGET` and the others
 */
export function grpcClientSettings<Prefix extends string>(
  prefix: Prefix,
  { service, knownBy }: GrpcClientTexts
): Prefixed<Prefix, ReturnType<typeof connectionSettings>> {
  const settings = connectionSettings(prefix, { service, knownBy })
  const prefixed = Object.entries(settings).map(([name, each]) => [`${prefix}_GRPC_${name}`, each])
  // The compiler does not follow the names through Object.entries.
  return Object.fromEntries(prefixed) as Prefixed<Prefix, typeof settings>
}

/**
 * The settings of such a connection that name the files of certificates: those that are shown to the other service, and the
 * authorities that verify its own.
 */
export function grpcClientTls<Prefix extends string>(prefix: Prefix) {
  return {
    certificate: `${prefix}_GRPC_TLS_CERTIFICATE_FILE`,
    key: `${prefix}_GRPC_TLS_KEY_FILE`,
    authority: `${prefix}_GRPC_TLS_CA_FILE`
  } as const
}

function connectionSettings(prefix: string, { service, knownBy }: GrpcClientTexts) {
  const serverName = `${service.replace(' ', '-')}-grpc`
  return {
    TARGET: setting.text({
      description: `The ${service}'s gRPC address.`,
      example: `dns:///${serverName}:3002`
    }),
    DEADLINE_MS: setting
      .wholeNumber(
        {
          description: `Maximum duration of one call to the ${service}, retries included, in milliseconds.`,
          example: '3000'
        },
        { min: 50, max: 60_000 }
      )
      .prefault('3000'),
    TLS_CA_FILE: setting
      .text({
        description: `Certificates of the authorities that sign the ${service}'s certificate: a PEM file. Required in production. Reloaded when it is replaced, like the two below: see [mutual TLS](decisions/mutual-tls.md).`,
        example: '/run/secrets/grpc/ca.crt'
      })
      .optional(),
    TLS_CERTIFICATE_FILE: setting
      .text({
        description: `Certificate that this service presents to the ${service}: a PEM file. ${knownBy}`,
        example: '/run/secrets/grpc/tls.crt'
      })
      .optional(),
    TLS_KEY_FILE: setting
      .text({ description: 'Key of that certificate: a PEM file.', example: '/run/secrets/grpc/tls.key' })
      .optional(),
    TLS_SERVER_NAME: setting
      .text({
        description: `DNS name that the ${service}'s certificate must contain. Default: the host of ${prefix}_GRPC_TARGET. Required if that is an IP address.`,
        example: serverName
      })
      .optional()
  }
}
