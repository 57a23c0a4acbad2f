import type { ServiceDefinition } from '@open-payments-server/grpc-transport'

/**
 * What an operator may do: a viewer only reads, an operator acts, an approver decides what waits for a decision. Every role
 * may read. An operator is no approver, and an approver no operator, so that both can be needed; one person may have both.
 */
export const ROLES = ['viewer', 'operator', 'approver'] as const

/** A role of {@link ROLES}. */
export type Role = (typeof ROLES)[number]

/** Who operates: a person, as an issuer knows them, or a machine, as its certificate names it. */
export interface Operator {
  /**
   * Names under which acts are recorded. Of a person `sub at issuer (name)`; of a machine the names in its certificate, and
   * none in plain text.
   */
  readonly names: readonly string[]
  readonly roles: ReadonlySet<Role>
  /** The person; undefined for a machine. */
  readonly person?: Person | undefined
}

/** A person who operates, as their issuer knows them. */
export interface Person {
  /** `iss` of their ID token. */
  readonly issuer: string
  /** What tells them from everyone else there: `sub` of their ID token, or the claim that OPERATOR_ISSUERS names. */
  readonly sub: string
  /** What they are called, which they may have chosen themselves; may be empty. */
  readonly name: string
  /** `sub` of their ID token, by which an account may be held; of records only proposals have it. */
  readonly tokenSub?: string | undefined
}

/** Who ordered or decided something, as it is recorded. */
export interface Actor {
  /** Of a person `sub at issuer`; of a machine the names in its certificate, or {@link PLAIN_TEXT_MACHINE}. */
  readonly key: string
  /** undefined for a machine. */
  readonly person: Person | undefined
}

/** The name of every caller in plain text, which has no certificate. */
export const PLAIN_TEXT_MACHINE = 'development'

/** Maximum length of the names of a machine that are recorded, in characters. */
const MACHINE_LENGTH_MAX = 512

/** Who an operator is, as it is recorded. */
export function actorOf({ names, person }: Operator): Actor {
  if (person !== undefined) return { key: `${person.sub} at ${person.issuer}`, person }
  const machine = names.length === 0 ? PLAIN_TEXT_MACHINE : names.join(', ').slice(0, MACHINE_LENGTH_MAX)
  return { key: machine, person: undefined }
}

/** Whether two are one where two persons are needed. All machines are one, and none is a second person: whoever runs them has them all. */
export function isSamePerson({ person: one }: Actor, { person: other }: Actor): boolean {
  if (one === undefined || other === undefined) return one === other
  return one.issuer === other.issuer && one.sub === other.sub
}

/** The role that each method of a service needs, by the method's key in the generated definition. */
export type RolesOf<Definition extends ServiceDefinition> = Readonly<Record<keyof Definition, Role>>

/** Whether someone with these roles may call a method that needs a role. */
export function mayCall(roles: ReadonlySet<Role>, needed: Role): boolean {
  return needed === 'viewer' ? roles.size > 0 : roles.has(needed)
}
