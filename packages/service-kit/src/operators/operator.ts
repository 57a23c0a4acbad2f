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
}

/** The role that each method of a service needs, by the method's key in the generated definition. */
export type RolesOf<Definition extends ServiceDefinition> = Readonly<Record<keyof Definition, Role>>

/** Whether someone with these roles may call a method that needs a role. */
export function mayCall(roles: ReadonlySet<Role>, needed: Role): boolean {
  return needed === 'viewer' ? roles.size > 0 : roles.has(needed)
}
