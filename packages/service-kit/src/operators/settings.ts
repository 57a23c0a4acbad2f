import { z } from 'zod'
import { PLAIN_TEXT_MACHINE, type Role, ROLES } from './operator.js'

/** An issuer whose ID tokens say who operates. */
export interface OperatorIssuer {
  /** Audiences of ID tokens that count. */
  readonly clientIds: readonly string[]
  /** Claim of an ID token that tells a person from everyone else at the issuer; undefined for `sub`. */
  readonly personClaim: string | undefined
  /** Where in an ID token the roles are: the name of a claim, or the names that lead to it. */
  readonly rolesClaim: readonly string[]
  /** Roles by the values of that claim. */
  readonly rolesOfValue: ReadonlyMap<string, ReadonlySet<Role>>
}

/** The issuers of operators by their `iss`. */
export type OperatorIssuers = ReadonlyMap<string, OperatorIssuer>

/** What a machine may do without an operator's token. */
export interface OperatorMachine {
  readonly roles: ReadonlySet<Role>
  /** Whether nobody who operates can use its key, as the setting says. */
  readonly isUnattended: boolean
}

/** The machines that operate, by the names in their certificates. */
export type OperatorMachines = ReadonlyMap<string, OperatorMachine>

/** The settings that say who operates. */
export interface OperatorConfig {
  readonly ENVIRONMENT: 'production' | 'development'
  readonly OPERATOR_ISSUERS?: string | undefined
  readonly OPERATOR_MACHINES?: string | undefined
}

const text = z.string().min(1)
const values = z.array(text).min(1).optional()

const issuersSchema = z
  .array(
    z.strictObject({
      issuer: z.string().refine(isIssuer, { message: 'must be an http or https URL without query' }),
      clientIds: z.array(text).min(1),
      personClaim: text.optional(),
      rolesClaim: z.union([text, z.array(text).min(1)]),
      roles: z.strictObject({ viewer: values, operator: values, approver: values })
    })
  )
  .min(1)

/**
 * Reads the setting OPERATOR_ISSUERS.
 *
 * @throws Error naming what is wrong in it
 */
export function parseOperatorIssuers(json: string | undefined): OperatorIssuers {
  if (json === undefined) return new Map()
  const parsed = issuersSchema.safeParse(parseJson(json))
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const place = issue?.path.map(String).join('.') ?? ''
    throw new Error(
      `OPERATOR_ISSUERS: ${place === '' ? '' : `${place}: `}${issue?.message ?? 'is malformed'}`
    )
  }
  const issuers = new Map<string, OperatorIssuer>()
  for (const { issuer, clientIds, personClaim, rolesClaim, roles } of parsed.data) {
    if (issuers.has(issuer)) throw new Error(`OPERATOR_ISSUERS: ${issuer} is there twice`)
    const found = { clientIds, personClaim, rolesClaim: [rolesClaim].flat(), rolesOfValue: byValue(roles) }
    issuers.set(issuer, found)
  }
  return issuers
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch (cause) {
    throw new Error('OPERATOR_ISSUERS: must be JSON', { cause })
  }
}

function byValue(roles: Partial<Record<Role, string[] | undefined>>): Map<string, Set<Role>> {
  const rolesOfValue = new Map<string, Set<Role>>()
  for (const role of ROLES)
    for (const value of roles[role] ?? [])
      rolesOfValue.set(value, new Set([...(rolesOfValue.get(value) ?? []), role]))
  return rolesOfValue
}

/** A name in a certificate, and roles. URIs may contain the sign between them: the last one counts. */
const MACHINE = /^(.+)=([a-z]+(?:\+[a-z]+)*)$/

/** Says, beside the roles of a machine, that nobody who operates can use its key. */
const UNATTENDED = 'unattended'

/**
 * Reads the setting OPERATOR_MACHINES: `name=role+role`, separated by commas, with {@link UNATTENDED} where that is so.
 *
 * @throws Error naming the entry that is wrong
 */
export function parseOperatorMachines(list: string | undefined): OperatorMachines {
  const machines = new Map<string, OperatorMachine>()
  const entries = (list ?? '').split(',').map((entry) => entry.trim())
  for (const entry of entries.filter((each) => each !== '')) {
    const [, named = '', given = ''] = MACHINE.exec(entry) ?? []
    const words = given.split('+')
    const roles = words.filter(isRole)
    if (roles.length === 0 || !words.every((word) => isRole(word) || word === UNATTENDED))
      throw new Error(
        `OPERATOR_MACHINES: "${entry}" is not a name, = and roles: ${ROLES.join(', ')}, with ${UNATTENDED} where nobody who operates can use its key`
      )
    // As names of certificates are compared: DNS names in any case of letters.
    const name = named.includes(':') ? named : named.toLowerCase()
    if (machines.has(name)) throw new Error(`OPERATOR_MACHINES: ${name} is there twice`)
    machines.set(name, { roles: new Set(roles), isUnattended: words.includes(UNATTENDED) })
  }
  return machines
}

/** Finds the roles of a machine by the names in its certificate. */
export type RolesOfMachine = (names: readonly string[]) => ReadonlySet<Role>

/**
 * Reads what machines may do without an operator's token. In development, every role unless OPERATOR_MACHINES is set; in
 * production none: a program that acts for people must not be able to act without them.
 *
 * @throws Error naming the entry that is wrong
 */
export function createRolesOfMachine(config: OperatorConfig): RolesOfMachine {
  const machines = parseOperatorMachines(config.OPERATOR_MACHINES)
  const isOpen = config.ENVIRONMENT === 'development' && config.OPERATOR_MACHINES === undefined
  if (isOpen) return () => new Set(ROLES)
  return (names) => {
    const known = names.length === 0 ? [PLAIN_TEXT_MACHINE] : names
    return new Set(known.flatMap((name) => [...(machines.get(name)?.roles ?? [])]))
  }
}

/**
 * Finds settings with which nobody could operate, or someone whom nobody meant.
 *
 * @returns one sentence per problem, for a ConfigurationError
 */
export function findUnsafeOperators(config: OperatorConfig): string[] {
  const problems: string[] = []
  const isProduction = config.ENVIRONMENT === 'production'
  if (isProduction && config.OPERATOR_ISSUERS === undefined && config.OPERATOR_MACHINES === undefined)
    problems.push(
      'OPERATOR_MACHINES: must be set in production unless OPERATOR_ISSUERS is: say what each machine may do, such as spiffe://wallet.example/operator=operator+approver'
    )
  try {
    const isPlain = [...parseOperatorIssuers(config.OPERATOR_ISSUERS).keys()].some((issuer) =>
      issuer.startsWith('http:')
    )
    if (isProduction && isPlain) problems.push('OPERATOR_ISSUERS: must have https URLs in production')
  } catch (error) {
    problems.push((error as Error).message)
  }
  try {
    const machines = parseOperatorMachines(config.OPERATOR_MACHINES)
    if (isProduction && config.OPERATOR_ISSUERS !== undefined) problems.push(...findNamelessActors(machines))
  } catch (error) {
    problems.push((error as Error).message)
  }
  return problems
}

/** Machines by which a person could act beside themselves: propose what they approve, or order what is their own matter. */
function findNamelessActors(machines: OperatorMachines): readonly string[] {
  return [...machines].flatMap(([name, { roles, isUnattended }]) =>
    isUnattended || !(roles.has('operator') || roles.has('approver'))
      ? []
      : [
          `OPERATOR_MACHINES: where people sign in (OPERATOR_ISSUERS), whoever can use the key of ${name} acts as somebody else than themselves, and approves what they proposed by it: give it ${name}=viewer, or say that nobody who operates can use its key: ${name}=${[...roles, UNATTENDED].join('+')}`
        ]
  )
}

function isRole(word: string): word is Role {
  return ROLES.some((role) => role === word)
}

function isIssuer(issuer: string): boolean {
  return /^https?:\/\/[\x21-\x7e]+$/.test(issuer) && !/[?#]/.test(issuer) && URL.canParse(issuer)
}
