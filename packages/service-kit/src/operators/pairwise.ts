import { ConfigurationError } from '@open-payments-server/runtime/configuration'
import { type IssuerKeys, IssuerUnavailable } from '../issuers/index.js'
import { type OperatorConfig, parseOperatorIssuers } from './settings.js'

/** Whether every `sub` of an issuer is another one at each client (OpenID Connect Core §8), so that one person would be several. */
export function arePairwise(subjectTypes: readonly string[] | undefined): boolean {
  return subjectTypes !== undefined && subjectTypes.length > 0 && !subjectTypes.includes('public')
}

/** What is wrong with an issuer of pairwise subjects for which no claim is set. */
export function pairwiseProblem(issuer: string): string {
  return `OPERATOR_ISSUERS: ${issuer} gives one person another sub at each client (pairwise): personClaim must name the claim that tells who somebody is, such as oid`
}

/**
 * Refuses issuers by whose `sub` nobody could tell whether two are one person. An issuer that does not answer now is asked when its first
 * token comes, which then does not count.
 *
 * @throws ConfigurationError naming them
 */
export async function refusePairwiseIssuers(
  config: OperatorConfig,
  keys: Pick<IssuerKeys, 'subjectTypesOf'>
): Promise<void> {
  const asked = [...parseOperatorIssuers(config.OPERATOR_ISSUERS)].filter(
    ([, { personClaim }]) => personClaim === undefined
  )
  const found = await Promise.all(
    asked.map(async ([issuer]) => ((await isPairwise(issuer, keys)) ? [pairwiseProblem(issuer)] : []))
  )
  const problems = found.flat()
  if (problems.length > 0) throw new ConfigurationError(problems)
}

async function isPairwise(issuer: string, keys: Pick<IssuerKeys, 'subjectTypesOf'>): Promise<boolean> {
  try {
    return arePairwise(await keys.subjectTypesOf(issuer))
  } catch (error) {
    if (error instanceof IssuerUnavailable) return false
    throw error
  }
}
