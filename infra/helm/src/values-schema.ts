import { authServerSchema } from '@open-payments-server/auth-server/config'
import { resourceServerSchema } from '@open-payments-server/resource-server/config'
import { describeSettings, type SettingDescription } from '@open-payments-server/runtime/configuration'
import { SERVICE_VALUES, type ServiceName } from './parameters.js'

/** A JSON schema. */
export interface Schema {
  readonly [keyword: string]: unknown
}

const SETTINGS: Readonly<Record<ServiceName, readonly SettingDescription[]>> = {
  'auth-server': describeSettings(authServerSchema),
  'resource-server': describeSettings(resourceServerSchema)
}

/** Settings that would move a listener away from where Services and policies look for it. */
const OF_LISTENERS = /^(HTTP|GRPC|IDENTITY_PROVIDER|METRICS)_(HOST|PORT)$/
/** Kubernetes names, as secrets have them. */
const NAME: Schema = { type: 'string', pattern: '^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$' }
/** A tag with a digit in it, as every version has one and `latest` has none. Helm's expressions (RE2) know no lookahead. */
const VERSION = '^(\\d|[A-Za-z_][\\w.-]*\\d)[\\w.-]*(@sha256:[0-9a-f]{64})?$'
const RULES: Schema = { type: 'array', minItems: 1, items: { type: 'object' } }
const RESOURCES: Schema = {
  type: 'object',
  required: ['requests', 'limits'],
  properties: Object.fromEntries(
    ['requests', 'limits'].map((name) => [name, { type: 'object', required: ['cpu', 'memory'] }])
  )
}

/**
 * The schema of values.yaml. That of the settings comes from the schemas that the services read them with.
 *
 * @param defaults values.yaml itself
 * @param fixed settings that the templates decide
 */
export function valuesSchema(
  defaults: Readonly<Record<string, unknown>>,
  fixed: (service: ServiceName) => readonly string[]
): Schema {
  const services = Object.entries(SERVICE_VALUES).map(([service, value]) => [
    value,
    serviceSchema(service as ServiceName, fixed(service as ServiceName))
  ])
  const network = Object.keys(defaults.networkPolicies as object)
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...closed({
      global: { type: 'object', description: 'Added by Helm itself.' },
      ...(Object.fromEntries(services) as Record<string, Schema>),
      networkPolicies: closed(Object.fromEntries(network.map((name) => [name, RULES]))),
      certificates: closed({
        issuerRef: { type: 'object', required: ['name', 'kind'] },
        createAuthority: { type: 'boolean', description: 'Whether to make an authority of its own.' }
      }),
      serviceMonitor: closed({ enabled: { type: 'boolean' } }),
      prometheusRule: closed({ enabled: { type: 'boolean' } }),
      trustDomain: {
        ...NAME,
        description: 'Who the certificates are of, in `spiffe://<trust domain>/<who>`.'
      }
    })
  }
}

function serviceSchema(service: ServiceName, fixed: readonly string[]): Schema {
  return closed({
    image: closed({
      repository: { type: 'string', minLength: 1 },
      tag: {
        type: 'string',
        pattern: VERSION,
        description: 'A version, with a digest if you like: 0.1.0@sha256:…'
      }
    }),
    settings: settingsSchema(SETTINGS[service], fixed),
    existingSecret: NAME,
    existingMigrationSecret: NAME,
    resources: RESOURCES,
    migrationResources: RESOURCES,
    autoscaling: closed({
      minReplicas: { type: 'integer', minimum: 1 },
      maxReplicas: { type: 'integer', minimum: 1 },
      averageUtilization: { type: 'integer', minimum: 1, maximum: 100 }
    })
  })
}

/** The settings of a service that are left to the user. Secrets are given as paths of files. */
function settingsSchema(settings: readonly SettingDescription[], fixed: readonly string[]): Schema {
  const offered = settings
    .map((setting) =>
      setting.secret ? { ...setting, name: `${setting.name}_FILE`, example: undefined } : setting
    )
    .filter(({ name }) => !fixed.includes(name) && !OF_LISTENERS.test(name))
  const properties = offered.map(({ name, description, defaultValue, example }) => [
    name,
    {
      type: 'string',
      description,
      ...(defaultValue === undefined ? {} : { default: defaultValue }),
      ...(example === undefined ? { pattern: '^/run/secrets/service/' } : { examples: [example] })
    }
  ])
  return {
    type: 'object',
    additionalProperties: false,
    required: offered.filter(({ required }) => required).map(({ name }) => name),
    properties: Object.fromEntries(properties) as Schema
  }
}

/** An object with these fields, all of them and no others. */
function closed(properties: Readonly<Record<string, Schema>>): Schema {
  return {
    type: 'object',
    additionalProperties: false,
    required: Object.keys(properties).filter((name) => name !== 'global'),
    properties
  }
}
