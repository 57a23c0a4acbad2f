/** A step into an object: a field, a place in a list, or the entry of a list that has a name. */
export type Step = string | number | { readonly name: string }

/** A place of the overlay for production whose content becomes a value of the chart. */
export interface Parameter {
  /** Where it is in values.yaml: `authServer.resources` */
  readonly value: string
  readonly kind: string
  readonly name: string
  readonly path: readonly Step[]
  /** What it is for, for whoever reads values.yaml. */
  readonly description: string
}

/** The services, by their names in the cluster and in values.yaml. */
export const SERVICE_VALUES = { 'auth-server': 'authServer', 'resource-server': 'resourceServer' } as const

/** Name of a service. */
export type ServiceName = keyof typeof SERVICE_VALUES

const POD: readonly Step[] = ['spec', 'template', 'spec']
const CONTAINER: readonly Step[] = [...POD, 'containers', 0]
const volume = (name: string): readonly Step[] => [...POD, 'volumes', { name }, 'secret', 'secretName']

/** Everything that can be set, but for images, settings, the trust domain, and what can be left out. */
export const PARAMETERS: readonly Parameter[] = [
  ...Object.entries(SERVICE_VALUES).flatMap(([service, value]) => parametersOf(service, value)),
  {
    value: 'networkPolicies.postgresql',
    kind: 'NetworkPolicy',
    name: 'open-payments-postgresql',
    path: ['spec', 'egress'],
    description: 'Where PostgreSQL is: rules of egress.'
  },
  {
    value: 'networkPolicies.redis',
    kind: 'NetworkPolicy',
    name: 'open-payments-redis',
    path: ['spec', 'egress'],
    description: 'Where Redis is: rules of egress.'
  },
  {
    value: 'networkPolicies.public',
    kind: 'NetworkPolicy',
    name: 'open-payments-public',
    path: ['spec', 'ingress'],
    description: 'Who may reach the public listeners, such as an ingress controller: rules of ingress.'
  },
  {
    value: 'networkPolicies.metrics',
    kind: 'NetworkPolicy',
    name: 'open-payments-metrics',
    path: ['spec', 'ingress'],
    description: 'Who may read metrics: rules of ingress.'
  },
  {
    value: 'networkPolicies.identityProvider',
    kind: 'NetworkPolicy',
    name: 'auth-server',
    path: ['spec', 'ingress', 1, 'from'],
    description: 'Who may reach the identity-provider listener: peers.'
  },
  ...['auth-server-grpc', 'resource-server-grpc', 'operator-grpc'].map((name) => ({
    value: 'certificates.issuerRef',
    kind: 'Certificate',
    name,
    path: ['spec', 'issuerRef'],
    description: 'The issuer of cert-manager that signs the certificates of gRPC.'
  }))
]

function parametersOf(service: string, value: string): Parameter[] {
  const migration = `${service}-migration`
  const scaling = (name: string, description: string, path: readonly Step[]): Parameter => ({
    value: `${value}.autoscaling.${name}`,
    kind: 'HorizontalPodAutoscaler',
    name: service,
    path: ['spec', ...path],
    description
  })
  return [
    {
      value: `${value}.existingSecret`,
      kind: 'Deployment',
      name: service,
      path: volume('secrets'),
      description: 'The secret that holds what the service must know; see docs/operations.md.'
    },
    {
      value: `${value}.existingMigrationSecret`,
      kind: 'Job',
      name: migration,
      path: volume('migration'),
      description: 'The secret with the database-url of whoever may change the schema.'
    },
    {
      value: `${value}.resources`,
      kind: 'Deployment',
      name: service,
      path: [...CONTAINER, 'resources'],
      description: 'What each replica is given.'
    },
    {
      value: `${value}.migrationResources`,
      kind: 'Job',
      name: migration,
      path: [...CONTAINER, 'resources'],
      description: 'What its migration is given.'
    },
    scaling('minReplicas', 'Fewest replicas.', ['minReplicas']),
    scaling('maxReplicas', 'Most replicas. The service is told, too.', ['maxReplicas']),
    scaling(
      'averageUtilization',
      'Processor time, in percent of what is requested, above which there are more.',
      ['metrics', 0, 'resource', 'target', 'averageUtilization']
    )
  ]
}
