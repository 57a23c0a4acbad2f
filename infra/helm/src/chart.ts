import {
  type Container,
  containerOf,
  findObject,
  type KubernetesObject,
  type Variable,
  type Workload,
  workloadsOf
} from '@open-payments-server/kubernetes'
import { Document, isMap, stringify } from 'yaml'
import { PARAMETERS, SERVICE_VALUES, type ServiceName, type Step } from './parameters.js'
import { valuesSchema } from './values-schema.js'

const GENERATED =
  '# Made from infra/kubernetes/overlays/production by infra/helm/scripts/write-chart.mjs. Do not edit it.\n'
const TRUST_DOMAIN = /^spiffe:\/\/([^/]+)\//

/** Which objects go into which template, and what must be true for them to be there. */
const TEMPLATES: readonly {
  readonly file: string
  readonly holds: (object: KubernetesObject) => boolean
  readonly condition?: string
}[] = [
  { file: 'migrations', holds: ({ kind }) => kind === 'Job' },
  { file: 'network-policies', holds: ({ kind }) => kind === 'NetworkPolicy' },
  {
    file: 'service-monitor',
    holds: ({ kind }) => kind === 'ServiceMonitor',
    condition: 'serviceMonitor.enabled'
  },
  {
    file: 'prometheus-rule',
    holds: ({ kind }) => kind === 'PrometheusRule',
    condition: 'prometheusRule.enabled'
  },
  { file: 'authority', holds: isOfAuthority, condition: 'certificates.createAuthority' },
  { file: 'certificates', holds: ({ kind }) => kind === 'Certificate' },
  { file: 'auth-server', holds: ({ metadata }) => metadata.name.startsWith('auth-server') },
  { file: 'resource-server', holds: ({ metadata }) => metadata.name.startsWith('resource-server') }
]

/** Values of a chart, as values.yaml has them. */
export interface Values {
  [name: string]: unknown
}

/**
 * Makes the Helm chart: thin templates whose default rendering is the overlay itself.
 *
 * @param overlay the overlay for production, rendered
 * @returns text of every file that is made, by its path in the chart
 */
export function makeChart(overlay: readonly KubernetesObject[]): Record<string, string> {
  const objects = structuredClone(overlay.filter(({ kind }) => kind !== 'Namespace'))
  const values = takeValues(objects)
  const files: Record<string, string> = {
    'values.yaml': writeValues(values),
    'values.schema.json': `${JSON.stringify(
      valuesSchema(values, (service) => fixedVariables(overlay, service)),
      null,
      2
    )}\n`
  }
  const left = new Set(objects)
  for (const { file, holds, condition } of TEMPLATES) {
    const held = [...left].filter(holds)
    for (const object of held) left.delete(object)
    const text = held.map((object) => `---\n${writeTemplate(object)}`).join('')
    const guarded = condition === undefined ? text : `{{- if .Values.${condition} }}\n${text}{{- end }}\n`
    files[`templates/${file}.yaml`] = `${GENERATED}${guarded}`
  }
  if (left.size > 0) throw new Error(`${[...left].map(({ kind }) => kind).join(', ')} belong to no template`)
  return files
}

function isOfAuthority({ kind, metadata }: KubernetesObject): boolean {
  return kind === 'Issuer' || (kind === 'Certificate' && metadata.name === 'open-payments-grpc-authority')
}

/** Puts expressions into the objects, and answers what was there: the defaults. */
function takeValues(objects: readonly KubernetesObject[]): Values {
  const values: Values = {}
  for (const object of workloadsOf(objects)) takeWorkload(object, values)
  for (const { value, kind, name, path } of PARAMETERS) {
    const object = objects.find((candidate) => candidate.kind === kind && candidate.metadata.name === name)
    setValue(values, value, exchange(object, path, whole(`.Values.${value}`)))
  }
  setValue(values, 'certificates.createAuthority', true)
  setValue(values, 'serviceMonitor.enabled', true)
  setValue(values, 'prometheusRule.enabled', true)
  for (const object of objects) {
    exchange(object, ['metadata', 'namespace'], whole('.Release.Namespace'))
    takeTrustDomain(object, values)
  }
  return values
}

/** The image, and the settings that are not the base's: those are the user's. */
function takeWorkload(workload: Workload, values: Values): void {
  const service = serviceOf(workload)
  const key = SERVICE_VALUES[service]
  const container = containerOf(workload)
  const [, repository, tag] = /^(.+?):(.+)$/.exec(container.image) ?? []
  setValue(values, `${key}.image`, { repository, tag })
  Reflect.set(container, 'image', `{{ .Values.${key}.image.repository }}:{{ .Values.${key}.image.tag }}`)
  // A migration has no settings but the way to its database.
  if (workload.kind !== 'Job') takeSettings(container, key, values)
}

function takeSettings(container: Container, key: string, values: Values): void {
  const { env: variables = [] } = container
  const isUsers = ({ name }: Variable): boolean => !isFixed(name)
  setValue(
    values,
    `${key}.settings`,
    Object.fromEntries(variables.filter(isUsers).map(({ name, value }) => [name, value]))
  )
  const env = [
    ...variables
      .filter((variable) => !isUsers(variable))
      .map((variable) =>
        variable.name === 'REPLICA_COUNT'
          ? { ...variable, value: `{{ .Values.${key}.autoscaling.maxReplicas }}` }
          : variable
      ),
    `RANGE ${key}.settings`
  ]
  Reflect.set(container, 'env', env)
}

/** Settings that manifests decide: where listeners and files are, who is who, and what goes with other objects. */
function isFixed(name: string): boolean {
  return /_FILE$|_CLIENTS$|^METRICS_|^(REPLICA_COUNT|SHUTDOWN_GRACE_SECONDS|AUTH_GRPC_TARGET)$/.test(name)
}

/** Names of the variables that the overlay gives a service itself. */
function fixedVariables(objects: readonly KubernetesObject[], service: ServiceName): readonly string[] {
  const { env = [] } = containerOf(findObject(objects, 'Deployment', service) as Workload)
  return env.map(({ name }) => name).filter(isFixed)
}

function serviceOf({ metadata }: KubernetesObject): ServiceName {
  const service = metadata.labels?.['app.kubernetes.io/name'] ?? ''
  if (service in SERVICE_VALUES) return service as ServiceName
  throw new Error(`${metadata.name} is of no service`)
}

function takeTrustDomain(value: unknown, values: Values): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    const domain = typeof inner === 'string' ? TRUST_DOMAIN.exec(inner)?.[1] : undefined
    if (domain === undefined) {
      takeTrustDomain(inner, values)
    } else {
      setValue(values, 'trustDomain', domain)
      Reflect.set(value, key, String(inner).replace(TRUST_DOMAIN, 'spiffe://{{ .Values.trustDomain }}/'))
    }
  }
}

/** Puts a text in the place of what is at a path, and answers what was there. */
function exchange(object: unknown, path: readonly Step[], text: string): unknown {
  const [last] = path.slice(-1)
  let place = object
  for (const step of path.slice(0, -1)) place = stepInto(place, step)
  const found = last === undefined ? undefined : stepInto(place, last)
  if (found === undefined || typeof last === 'object') throw new Error(`there is no ${JSON.stringify(path)}`)
  Reflect.set(place as object, last as PropertyKey, text)
  return found
}

function stepInto(place: unknown, step: Step): unknown {
  if (typeof step !== 'object') return (place as Record<string | number, unknown> | undefined)?.[step]
  return (place as { name?: unknown }[] | undefined)?.find(({ name }) => name === step.name)
}

/** Sets a value, which may be in several places and must then be the same, or not contradict: settings are merged. */
function setValue(values: Values, path: string, value: unknown): void {
  const names = path.split('.')
  const [last = ''] = names.splice(-1)
  let place = values
  for (const name of names) place = (place[name] ??= {}) as Values
  if (last in place && JSON.stringify(place[last]) !== JSON.stringify(value)) {
    throw new Error(`${path} is not the same everywhere`)
  }
  place[last] = value
}

/** An expression in the place of a whole value, of whatever type. */
function whole(expression: string): string {
  return `WHOLE ${expression}`
}

function writeTemplate(object: KubernetesObject): string {
  return (
    stringify(object, { lineWidth: 0, defaultStringType: 'PLAIN', aliasDuplicateObjects: false })
      // Prometheus' own expressions: Helm must leave them alone.
      .replace(/\{\{ (\$[^}]+) \}\}/g, '{{ "{{" }} $1 }}')
      .replace(/^( *)- RANGE (\S+)$/gm, (_line, indent: string, value: string) =>
        [
          `${indent}{{- range $name, $value := .Values.${value} }}`,
          `${indent}- name: {{ $name | toJson }}`,
          `${indent}  value: {{ $value | toJson }}`,
          `${indent}{{- end }}`
        ].join('\n')
      )
      .replace(/WHOLE (\S+)$/gm, '{{ $1 | toJson }}')
  )
}

/** values.yaml, with what each value is for. */
function writeValues(values: Values): string {
  const document = new Document(values, { aliasDuplicateObjects: false })
  for (const { value, description } of PARAMETERS) {
    const names = value.split('.')
    const parent = document.getIn(names.slice(0, -1))
    if (!isMap(parent)) continue
    const pair = parent.items.find(({ key }) => String(key) === names.at(-1))
    if (pair !== undefined) (pair.key as { commentBefore?: string }).commentBefore = ` ${description}`
  }
  return `# Everything that ends in \`.example\`, and every 192.0.2.x, is a place for yours.\n${GENERATED}${document.toString({ lineWidth: 0 })}`
}
