import type { KubernetesObject } from './objects.js'

/** The schemas of a group of kinds. */
const PACKAGES: Readonly<Record<string, string>> = {
  'argoproj.io': '@kubernetes-models/argo-cd',
  'cert-manager.io': '@kubernetes-models/cert-manager',
  'external-secrets.io': '@kubernetes-models/external-secrets',
  'gateway.networking.k8s.io': '@kubernetes-models/gateway-api',
  'helm.toolkit.fluxcd.io': '@kubernetes-models/flux-cd',
  'kustomize.toolkit.fluxcd.io': '@kubernetes-models/flux-cd',
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
  'postgresql.cnpg.io': '@kubernetes-models/cloudnative-pg',
  'source.toolkit.fluxcd.io': '@kubernetes-models/flux-cd'
}
/**
 * Versions whose schemas only come in packages that do not run on Node 20, and the last before each. What we write of them did
 * not change in between.
 */
const NEAREST: Readonly<Record<string, string>> = {
  'external-secrets.io/v1': 'external-secrets.io/v1beta1',
  'helm.toolkit.fluxcd.io/v2': 'helm.toolkit.fluxcd.io/v2beta2'
}

interface Model {
  /** Throws an error that says what is wrong. It is called on an object itself, because a model would copy it. */
  validate(this: unknown): void
}

/**
 * Checks an object against the schema that Kubernetes, or whoever defines its kind, publishes. Fields that the schema does not know
 * are errors, too: the schemas allow them, and Kubernetes would silently drop them.
 *
 * @returns its errors
 */
export async function findSchemaProblems(given: KubernetesObject): Promise<string[]> {
  const { kind } = given
  const apiVersion = NEAREST[given.apiVersion] ?? given.apiVersion
  const object = { ...given, apiVersion }
  const [group = ''] = apiVersion.split('/')
  const module = (await import(`${PACKAGES[group] ?? 'kubernetes-models'}/${apiVersion}/${kind}`)) as Record<
    string,
    { readonly prototype: Model }
  >
  const [Type] = Object.values(module)
  if (Type === undefined) return [`${apiVersion} ${kind} has no schema`]
  const read = new Set<string>()
  try {
    // Some models know their schema by a property of theirs.
    const model: unknown = Object.assign(Object.create(Type.prototype) as object, withoutLineBreaks(object))
    Type.prototype.validate.call(watch(model, '', read))
  } catch (error) {
    return [(error as Error).message]
  }
  return pathsOf(object, '')
    .filter((path) => !read.has(path))
    .map((path) => `${path} is not known`)
}

/** Kustomize wraps long secrets. Kubernetes accepts that, and the schema does not. */
function withoutLineBreaks(object: KubernetesObject): KubernetesObject {
  if (object.kind !== 'Secret') return object
  const data = Object.entries(object.data as Record<string, string>)
  return { ...object, data: Object.fromEntries(data.map(([key, value]) => [key, value.replace(/\s/g, '')])) }
}

/** The same value, recording the paths that are read of it: a validator reads what its schema knows. */
function watch(value: unknown, path: string, read: Set<string>): unknown {
  if (typeof value !== 'object' || value === null) return value
  return new Proxy(value, {
    get(target, key) {
      const found: unknown = Reflect.get(target, key)
      if (typeof key === 'symbol' || !Object.hasOwn(target, key)) return found
      read.add(`${path}/${key}`)
      return watch(found, `${path}/${key}`, read)
    }
  })
}

function pathsOf(value: unknown, path: string): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [
    `${path}/${key}`,
    ...pathsOf(inner, `${path}/${key}`)
  ])
}
