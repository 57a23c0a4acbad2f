/** Both services on Kubernetes: the rendered objects, and functions to inspect them. */
export {
  type Container,
  containerOf,
  findObject,
  type KubernetesObject,
  type Labels,
  type PodTemplate,
  podsOf,
  type Workload,
  workloadsOf
} from './objects.js'
export { type Overlay, overlayFolder, parseObjects, renderFolder, renderOverlay } from './render.js'
export { findSchemaProblems } from './schemas.js'
export { findTools, type Helm } from './tools.js'
export { type End, Traffic } from './traffic.js'
