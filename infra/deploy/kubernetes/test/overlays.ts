import { beforeAll, describe } from '@jest/globals'
import {
  containerOf,
  findObject,
  findTools,
  type KubernetesObject,
  type Overlay,
  renderOverlay,
  type Workload
} from '../src/index.js'
import { type ServiceName, SERVICES } from './starting.js'

const tools = await findTools()
if (typeof tools === 'string') console.log(`skipped: no kubectl can be had, so nothing is rendered: ${tools}`)

/** Path of `kubectl`. */
export const KUBECTL = typeof tools === 'string' ? 'kubectl' : tools.kubectl

/** Describes rendered overlays; nothing where there is no kubectl. */
export const describeRendered = typeof tools === 'string' ? describe.skip : describe

/** Renders overlays before the tests of a file. Returns the objects of each. */
export function renderBefore(...overlays: readonly Overlay[]): (overlay: Overlay) => KubernetesObject[] {
  const rendered = new Map<Overlay, KubernetesObject[]>()
  beforeAll(async () => {
    if (typeof tools === 'string') return
    for (const overlay of overlays) rendered.set(overlay, await renderOverlay(overlay, KUBECTL))
  })
  return (overlay) => {
    const objects = rendered.get(overlay)
    if (objects === undefined) throw new Error(`${overlay} is not rendered`)
    return objects
  }
}

/** The services, `web` for the pages of account holders, and the console. */
export const NAMES = Object.keys(SERVICES) as ServiceName[]
/** Those with a database, and so with a migration. */
export const WITH_DATABASE = ['auth-server', 'resource-server'] as const

/** A Deployment or Job. */
export const workload = (objects: KubernetesObject[], kind: string, name: string): Workload =>
  findObject(objects, kind, name) as Workload
/** The variables of its container. */
export const environmentOf = (of: Workload): Record<string, string> =>
  Object.fromEntries((containerOf(of).env ?? []).map(({ name, value }) => [name, value!]))
/** Each of them with its Deployment. */
export const deploymentsOf = (objects: KubernetesObject[]): [ServiceName, Workload][] =>
  NAMES.map((name) => [name, workload(objects, 'Deployment', name)])
/** Each service with its Deployment and its migration. */
export const servicesOf = (objects: KubernetesObject[]): [ServiceName, Workload, Workload][] =>
  WITH_DATABASE.map((name) => [
    name,
    workload(objects, 'Deployment', name),
    workload(objects, 'Job', `${name}-migration`)
  ])

/** A pod of a Deployment or Job, as network policies see it. */
export const podOf = (of: Workload, namespace: string) => ({
  namespace,
  labels: of.spec.template.metadata.labels,
  ports: Object.fromEntries((containerOf(of).ports ?? []).map((each) => [each.name, each.containerPort]))
})
