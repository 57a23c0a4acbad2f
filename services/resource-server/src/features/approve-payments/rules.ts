import { placeholder, Statement } from '@open-payments-server/database'
import { isUuid, newId, normalizeWalletAddress } from '@open-payments-server/value-types/identifiers'
import { APPROVAL_METHODS, type ApprovalConditions } from '../../domain/approval.js'
import { readCallValue } from '../../domain/call-fields.js'
import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import {
  type ApprovalRule,
  deleteRule,
  INSERTED_RULE,
  insertingRule,
  listRules,
  paid
} from '../../modules/approvals/index.js'
import { Prisma } from '../../modules/database.js'
import { walletAddressOf } from '../../modules/incoming-payments/index.js'
import { deliveries } from '../../modules/outgoing-payments/index.js'
import type { RuleDependencies } from './dependencies.js'

/** A client without a wallet address: `jwk:` and the RFC 7638 thumbprint of its key, in base64url. */
const JWK_CLIENT = /^jwk:[\w-]{43}$/

/** The conditions of a rule as they are requested; empty texts are conditions that every payment meets. */
export interface RuleRequest {
  /** Decimal string in the smallest unit of the debit's asset. */
  readonly aboveValue: string
  /** URL of the wallet address that pays. */
  readonly walletAddress: string
  readonly client: string
  readonly firstPayee: boolean
  readonly method: string
}

/** A rule as operators see it. */
export interface OperatedRule extends Omit<ApprovalRule, 'path' | 'walletAddressId'> {
  /** URL of the wallet address that pays; undefined for any. */
  readonly walletAddress: string | undefined
}

/** One statement: a rule about first payees is not there without the payees until then. */
const CREATE = new Statement<{ readonly id: string }>(
  'create-approval-rule',
  Prisma.sql`
  with ${paid(
    Prisma.sql`
    select delivery.wallet_address_id, ${walletAddressOf(Prisma.sql`delivery.incoming_payment_id`)} as payee_wallet_address_id
      from (${deliveries}) delivery`,
    Prisma.sql`${placeholder('firstPayee')}::boolean`
  )}
  ${INSERTED_RULE}`,
  { prepared: false }
)

/**
 * Creates a rule. Payments that are persisted from then on and meet all of its conditions await approval. A rule about first payees
 * looks through all payments first.
 *
 * @throws CallRefused `invalid`; `not-found` for the wallet address; `not-possible` when there are too many rules
 */
export async function createRule(
  request: RuleRequest,
  dependencies: RuleDependencies
): Promise<OperatedRule> {
  const conditions = await readConditions(request, dependencies)
  const { clock, random, urls, patientDatabase } = dependencies
  const rule = { ...conditions, id: newId(clock, random), createdAtMs: clock.now() }
  const rows = await CREATE.rows(patientDatabase, {
    ...insertingRule(rule),
    receivers: urls.of('incoming-payments', '')
  })
  if (rows.length === 0)
    throw new CallRefused('not-possible', 'there are as many rules as there may be: delete one first', {
      field: 'rule'
    })
  const { walletAddress } = request
  return { ...rule, walletAddress: walletAddress === '' ? undefined : walletAddress }
}

/** All rules, oldest first. */
export async function listApprovalRules({
  database,
  urls
}: Pick<RuleDependencies, 'database' | 'urls'>): Promise<readonly OperatedRule[]> {
  return (await listRules(database)).map(({ path, ...rule }) => ({
    ...rule,
    walletAddress: path === undefined ? undefined : urls.ofWalletAddress(path)
  }))
}

/** The rule with an id; undefined when there is none. */
export async function findApprovalRule(
  id: string,
  dependencies: Pick<RuleDependencies, 'database' | 'urls'>
): Promise<OperatedRule | undefined> {
  return (await listApprovalRules(dependencies)).find((rule) => rule.id === id)
}

/**
 * Deletes a rule. Payments that met it still await approval.
 *
 * @throws CallRefused `invalid`, or `not-found`
 */
export async function deleteApprovalRule(
  id: string,
  { database }: Pick<RuleDependencies, 'database'>
): Promise<void> {
  if (!isUuid(id)) throw invalidCallField('rule_id', 'must be a lower-case UUID')
  if (!(await deleteRule(database, id)))
    throw new CallRefused('not-found', 'there is no such rule', { field: 'rule_id' })
}

async function readConditions(
  { aboveValue, walletAddress, client, firstPayee, method }: RuleRequest,
  { walletAddresses }: RuleDependencies
): Promise<ApprovalConditions> {
  if (aboveValue === '' && walletAddress === '' && client === '' && !firstPayee && method === '')
    throw invalidCallField('rule', 'must have at least one condition')
  const known = APPROVAL_METHODS.find((name) => name === method)
  if (method !== '' && known === undefined)
    throw invalidCallField('method', `must be ${APPROVAL_METHODS.join(' or ')}`)
  return {
    aboveValue: aboveValue === '' ? undefined : readCallValue(aboveValue, 'above_value'),
    walletAddressId: await findWalletAddressId(walletAddress, walletAddresses),
    client: readClient(client),
    firstPayee,
    method: known
  }
}

/** The client as payments name it: its wallet address in its canonical spelling, without a final slash. */
function readClient(text: string): string | undefined {
  if (text === '') return undefined
  if (JWK_CLIENT.test(text)) return text
  const walletAddress = normalizeWalletAddress(text)
  if (walletAddress !== undefined) return walletAddress
  throw invalidCallField('client', "must be the URL of the client's wallet address, or jwk: and a thumbprint")
}

async function findWalletAddressId(
  url: string,
  walletAddresses: RuleDependencies['walletAddresses']
): Promise<string | undefined> {
  if (url === '') return undefined
  const found = await walletAddresses.findByUrl(url)
  if (found === undefined)
    throw new CallRefused('not-found', 'there is no such wallet address here', { field: 'wallet_address' })
  return found.id
}
