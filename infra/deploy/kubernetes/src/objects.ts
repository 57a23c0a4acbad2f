/** A Kubernetes object, as in YAML. */
export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Labels
    readonly annotations?: Labels
  }
  readonly spec?: unknown
  readonly [field: string]: unknown
}

/** Labels of an object, or of a selector. */
export type Labels = Readonly<Record<string, string>>

/** A variable of a container. */
export interface Variable {
  readonly name: string
  readonly value?: string
}

/** The parts of a container that the tests check. */
export interface Container {
  readonly name: string
  readonly image: string
  readonly args?: readonly string[]
  readonly env?: readonly Variable[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[]
  readonly [field: string]: unknown
}

/** The parts of a pod that the tests check. */
export interface PodSpec {
  readonly containers: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly terminationGracePeriodSeconds?: number
  readonly volumes?: readonly {
    readonly name: string
    readonly secret?: { readonly secretName: string; readonly items?: readonly { readonly path: string }[] }
  }[]
  readonly [field: string]: unknown
}

/** What pods are made of. */
export interface PodTemplate {
  readonly metadata: { readonly labels: Labels; readonly annotations?: Labels }
  readonly spec: PodSpec
}

/** An object that creates pods: a Deployment or a Job. */
export interface Workload extends KubernetesObject {
  readonly spec: { readonly replicas?: number; readonly template: PodTemplate }
}

/** The Deployments and Jobs among objects. */
export function workloadsOf(objects: readonly KubernetesObject[]): Workload[] {
  return objects.filter(({ kind }) => kind === 'Deployment' || kind === 'Job') as Workload[]
}

/** The pods that objects make, by the name of the object: of Deployments, Jobs and CronJobs, and those that are objects themselves. */
export function podsOf(objects: readonly KubernetesObject[]): ReadonlyMap<string, PodTemplate> {
  const pods = objects.flatMap((object): [string, PodTemplate][] => {
    const { name } = object.metadata
    if (object.kind === 'Pod') return [[name, object as unknown as PodTemplate]]
    if (object.kind === 'CronJob') {
      const { jobTemplate } = object.spec as { jobTemplate: { spec: { template: PodTemplate } } }
      return [[name, jobTemplate.spec.template]]
    }
    return workloadsOf([object]).map(({ spec }) => [name, spec.template])
  })
  return new Map(pods)
}

/**
 * The object of a kind and name.
 *
 * @throws Error when there is none
 */
export function findObject(
  objects: readonly KubernetesObject[],
  kind: string,
  name: string
): KubernetesObject {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name)
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`)
  return found
}

/**
 * The one container of a Deployment or Job.
 *
 * @throws Error when there are none or several
 */
export function containerOf(workload: Workload): Container {
  const { containers, initContainers = [] } = workload.spec.template.spec
  const [container] = containers
  if (container === undefined || containers.length + initContainers.length !== 1) {
    throw new Error(`${workload.kind} ${workload.metadata.name} must have one container`)
  }
  return container
}
