import { Refusal } from '@open-payments-server/value-types/refusals'
import type { ActingHolder, AllowedGrant } from '../../domain/allowed-grants.js'
import { CallRefused, invalidCallField } from '../../domain/call-refused.js'
import type { ConsentProof } from '../../domain/consent-proof.js'
import { RequestRefused } from '../../domain/errors.js'
import { findActs } from '../../modules/grants/index.js'
import { findAllowedGrant } from '../allowed-grants.js'
import { proveHolder, type ProveHolderDependencies } from '../prove-holder.js'
import { changeAllowedGrant, type ChangeAllowedGrantDependencies } from './change-allowed-grant.js'
import { type Resumption, resumptionOf, type ResumptionRules } from './resumption.js'

/** What resuming grants for their account holders needs. */
export interface ResumeGrantDependencies
  extends ChangeAllowedGrantDependencies, ProveHolderDependencies, ResumptionRules {}

/** The members of a proof, as the contract names them. */
const FIELDS: Readonly<Record<keyof ConsentProof, string>> = { idToken: 'id_token', ownership: 'ownership' }
const MEMBERS = ['idToken', 'ownership'] as const satisfies readonly (keyof ConsentProof)[]

/**
 * Resumes a grant. With a proof, whoever it names resumes it. What proves it is verified before anything is locked, and must still be about the
 * last act on the grant when it is resumed.
 *
 * @param acting who wants it, as the caller says: believed where no proof is given
 * @param sent what proves it, both members or none; and the last act that they were shown, as `changeAllowedGrant` takes it
 * @returns the grant after it
 * @throws CallRefused as `changeAllowedGrant`; `invalid` naming what of the proof is missing or wrong; `issuer-unavailable`
 */
export async function resumeGrant(
  acting: ActingHolder,
  grantId: string,
  { seenActId, ...sent }: Partial<ConsentProof> & { readonly seenActId?: string | undefined },
  dependencies: ResumeGrantDependencies
): Promise<AllowedGrant> {
  const { database, clock, consentProof } = dependencies
  // Read before the grant: if it is paused anew in between, the proof is of the act before, and no longer counts.
  const [lastAct] = await findActs(database, grantId, 1)
  const grant = await findAllowedGrant(database, acting, grantId, clock.now())
  const resumption = resumptionOf(grant, lastAct?.id, dependencies)
  const proof = readProof(sent, dependencies, resumption)
  if (resumption === undefined || proof === undefined) {
    const wanted = { kind: 'resumed', needsProof: consentProof === 'required', seenActId } as const
    return changeAllowedGrant(acting, grantId, wanted, dependencies)
  }
  const { issuer, sub } = await prove(proof, grant, resumption, dependencies)
  const proved = { issuer, sub, walletAddresses: [grant.walletAddress] }
  const { document } = resumption
  const wanted = {
    kind: 'resumed',
    needsProof: true,
    proof: { ...proof, document, after: lastAct?.id },
    seenActId
  } as const
  return changeAllowedGrant(proved, grantId, wanted, dependencies)
}

/** @throws CallRefused `invalid` for a proof that is missing, in part or as a whole, or that nobody looks at */
function readProof(
  { idToken, ownership }: Partial<ConsentProof>,
  { consentProof }: Pick<ResumptionRules, 'consentProof'>,
  resumption: Resumption | undefined
): ConsentProof | undefined {
  const given = { idToken, ownership }
  const present = MEMBERS.find((member) => given[member] !== undefined)
  if (present !== undefined && consentProof === 'none')
    throw invalidCallField(FIELDS[present], 'is not taken: CONSENT_PROOF is none')
  const isNeeded = consentProof === 'required' && resumption !== undefined
  if (present === undefined && !isNeeded) return undefined
  if (idToken === undefined || ownership === undefined)
    throw invalidCallField(idToken === undefined ? FIELDS.idToken : FIELDS.ownership, 'is required')
  return { idToken, ownership }
}

async function prove(
  proof: ConsentProof,
  { walletAddress }: AllowedGrant,
  { document, signIn }: Resumption,
  dependencies: ProveHolderDependencies
): ReturnType<typeof proveHolder> {
  try {
    return await proveHolder(proof, { document, walletAddress, demand: signIn }, dependencies)
  } catch (error) {
    throw inTermsOfTheContract(error)
  }
}

/** The verifiers refuse in the terms of the consent API. */
function inTermsOfTheContract(error: unknown): unknown {
  if (error instanceof RequestRefused && error.because === 'issuer-unavailable')
    return new CallRefused('issuer-unavailable', error.message, { field: FIELDS.idToken, cause: error })
  if (!(error instanceof Refusal)) return error
  const member = MEMBERS.find((each) => error.details?.[each] !== undefined)
  if (member === undefined) return error
  const field = FIELDS[member]
  return new CallRefused('invalid', `${field}: ${String(error.details?.[member])}`, { field, cause: error })
}
