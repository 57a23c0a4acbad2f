import { authServerSchema } from '@open-payments-server/auth-server/config'
import {
  containerOf,
  findObject,
  type KubernetesObject,
  type Workload
} from '@open-payments-server/kubernetes'
import { resourceServerSchema } from '@open-payments-server/resource-server/config'
import { describeSettings, type SettingDescription } from '@open-payments-server/runtime/configuration'
import { type Listener, LISTENER_SETTINGS, webSchema } from '@open-payments-server/web/config'

/** Settings that the templates only give where the user gives none. */
const DEFAULTED: readonly string[] = ['GRPC_HOLDER_CLIENTS', 'OPERATOR_MACHINES']

/** Settings that would move a listener from the port that Services and policies use. */
const OF_LISTENERS = /^(HTTP|CONSOLE|GRPC|IDENTITY_PROVIDER|ILP|METRICS)_(HOST|PORT)$/

/**
 * The definitions of values.schema.json for the settings of each service, derived from the schemas of the services.
 *
 * @param base objects of the chart without settings: users may not set what these set, except what is only a default
 */
export function settingsDefinitions(base: readonly KubernetesObject[]): Record<string, unknown> {
  const ofAuth = describeSettings(authServerSchema)
  const ofResource = describeSettings(resourceServerSchema)
  const fixedOfAuth = variablesOf(base, 'auth-server')
  const fixedOfResource = variablesOf(base, 'resource-server')
  return {
    authServerSettings: settingsSchema(ofAuth, fixedOfAuth),
    resourceServerSettings: settingsSchema(ofResource, fixedOfResource),
    authServerVariables: variablesSchema(ofAuth, fixedOfAuth),
    resourceServerVariables: variablesSchema(ofResource, fixedOfResource),
    ...definitionsOfPages(base, 'web', 'pages'),
    ...definitionsOfPages(base, 'console', 'console')
  }
}

/** The same for one of the two that run the program of the pages, with one of its listeners: none of the settings of the other. */
function definitionsOfPages(
  base: readonly KubernetesObject[],
  name: string,
  listener: Listener
): Record<string, unknown> {
  const { needed } = LISTENER_SETTINGS[listener]
  const { own: foreign } = LISTENER_SETTINGS[listener === 'pages' ? 'console' : 'pages']
  const settings = describeSettings(webSchema).map((setting) =>
    needed.some((each) => each === setting.name) ? { ...setting, required: true } : setting
  )
  const fixed = variablesOf(base, name)
  const isForeign = (setting: SettingDescription): boolean => foreign.includes(setting.name)
  const offered = settings.filter((setting) => !isForeign(setting))
  return {
    [`${name}Settings`]: settingsSchema(offered, fixed),
    [`${name}Variables`]: variablesSchema(settings, [...fixed, ...foreign])
  }
}

function variablesOf(base: readonly KubernetesObject[], service: string): readonly string[] {
  const { env = [] } = containerOf(findObject(base, 'Deployment', service) as Workload)
  return env.map(({ name }) => name)
}

/** The settings of a service that users may give. Secrets are given as paths of files. */
function settingsSchema(settings: readonly SettingDescription[], fixed: readonly string[]): unknown {
  const offered = settings
    .map((setting) =>
      setting.secret ? { ...setting, name: `${setting.name}_FILE`, example: undefined } : setting
    )
    .filter(({ name }) => DEFAULTED.includes(name) || (!fixed.includes(name) && !OF_LISTENERS.test(name)))
  const properties = offered.map(({ name, description, defaultValue, example, pattern }) => [
    name,
    {
      type: 'string',
      description,
      ...(pattern === undefined ? {} : { pattern }),
      ...(defaultValue === undefined ? {} : { default: defaultValue }),
      ...(example === undefined ? { pattern: '^/run/secrets/service/' } : { examples: [example] })
    }
  ])
  return {
    type: 'object',
    additionalProperties: false,
    required: offered.filter(({ required }) => required).map(({ name }) => name),
    properties: Object.fromEntries(properties) as unknown
  }
}

/** Further variables of a service: none that the templates set or would contradict, and no secret in plain sight. */
function variablesSchema(settings: readonly SettingDescription[], fixed: readonly string[]): unknown {
  const secrets = settings.filter(({ secret }) => secret).map(({ name }) => name)
  const refused = [
    ...fixed,
    ...secrets.filter((name) => fixed.includes(`${name}_FILE`)),
    ...settings.map(({ name }) => name).filter((name) => OF_LISTENERS.test(name))
  ]
  return {
    type: 'array',
    items: {
      allOf: [{ $ref: '#/definitions/variable' }],
      properties: { name: { not: { enum: [...new Set(refused)] } } },
      if: { properties: { name: { enum: secrets } } },
      then: { required: ['valueFrom'] }
    }
  }
}
