import { BlockList, isIP } from 'node:net'
import type { KubernetesObject, Labels } from './objects.js'

interface Selector {
  readonly matchLabels?: Labels
  readonly matchExpressions?: readonly {
    readonly key: string
    readonly operator: string
    readonly values: readonly string[]
  }[]
}

interface Peer {
  readonly podSelector?: Selector
  readonly namespaceSelector?: Selector
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] }
}

interface Rule {
  readonly from?: readonly Peer[]
  readonly to?: readonly Peer[]
  readonly ports?: readonly { readonly protocol: string; readonly port: number | string }[]
}

interface Policy {
  readonly podSelector: Selector
  readonly policyTypes: readonly string[]
  readonly ingress?: readonly Rule[]
  readonly egress?: readonly Rule[]
}

/** A pod, or an address outside the cluster. */
export type End =
  | { readonly namespace: string; readonly labels: Labels; readonly ports?: Readonly<Record<string, number>> }
  | { readonly address: string }

/** Evaluates network policies as the API describes them. */
export class Traffic {
  readonly #namespace: string
  readonly #policies: readonly Policy[]

  /** @param namespace the namespace of all the policies */
  constructor(objects: readonly KubernetesObject[], namespace: string) {
    this.#namespace = namespace
    this.#policies = objects.filter(({ kind }) => kind === 'NetworkPolicy').map(({ spec }) => spec as Policy)
  }

  /** Whether a pod's traffic is denied in both directions unless a rule allows it. */
  isIsolated(pod: End): boolean {
    return ['Ingress', 'Egress'].every((type) => this.#selecting(pod, type).length > 0)
  }

  /** Whether one end may open a connection to a port of another: the policies of both must allow it. */
  allows(from: End, to: End, port: number, protocol = 'TCP'): boolean {
    const leaves = this.#passes(from, 'Egress', to, { port, protocol, of: to })
    const enters = this.#passes(to, 'Ingress', from, { port, protocol, of: to })
    return leaves && enters
  }

  #passes(
    pod: End,
    type: 'Ingress' | 'Egress',
    other: End,
    at: { port: number; protocol: string; of: End }
  ): boolean {
    const selecting = this.#selecting(pod, type)
    if (selecting.length === 0) return true
    return selecting
      .flatMap((policy) => (type === 'Ingress' ? policy.ingress : policy.egress) ?? [])
      .some(({ from, to, ports }) => {
        const peers = from ?? to
        const isPeer = peers === undefined || peers.some((peer) => this.#isPeer(peer, other))
        const isPort =
          ports === undefined ||
          ports.some(({ protocol, port }) => protocol === at.protocol && portNumber(port, at.of) === at.port)
        return isPeer && isPort
      })
  }

  #selecting(pod: End, type: string): Policy[] {
    if ('address' in pod || pod.namespace !== this.#namespace) return []
    return this.#policies.filter(
      ({ podSelector, policyTypes }) => policyTypes.includes(type) && selects(podSelector, pod.labels)
    )
  }

  #isPeer({ podSelector, namespaceSelector, ipBlock }: Peer, other: End): boolean {
    if ('address' in other) return ipBlock !== undefined && isInBlock(ipBlock, other.address)
    if (ipBlock !== undefined) return false
    const isNamespace =
      namespaceSelector === undefined
        ? other.namespace === this.#namespace
        : selects(namespaceSelector, { 'kubernetes.io/metadata.name': other.namespace })
    return isNamespace && (podSelector === undefined || selects(podSelector, other.labels))
  }
}

function selects({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Labels): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values }) => {
      if (operator !== 'In') throw new Error(`${operator} is not understood here`)
      return values.includes(labels[key] ?? '')
    })
  )
}

function portNumber(port: number | string, of: End): number | undefined {
  if (typeof port === 'number') return port
  return 'ports' in of ? of.ports?.[port] : undefined
}

function isInBlock(
  { cidr, except = [] }: { cidr: string; except?: readonly string[] },
  address: string
): boolean {
  return isInNetwork(cidr, address) && !except.some((network) => isInNetwork(network, address))
}

function isInNetwork(network: string, address: string): boolean {
  const [base = '', bits] = network.split('/')
  const family = (text: string) => (isIP(text) === 6 ? 'ipv6' : 'ipv4')
  if (family(base) !== family(address)) return false
  const list = new BlockList()
  list.addSubnet(base, Number(bits), family(base))
  return list.check(address, family(address))
}
