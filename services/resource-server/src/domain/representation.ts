/** Whether what the published API does not have is shown: `updatedAt`, and the `failureReason` of an outgoing payment. */
export type Representation = 'full' | 'published'

/** The service's setting: `negotiated` follows each request's `Accept`. */
export type RepresentationSetting = Representation | 'negotiated'

/** A media range with weight 0 is what the client does *not* accept. */
const WEIGHT_ZERO = /^q=0(?:\.0{0,3})?$/i

/**
 * Chooses the representation for the four answers that the published API closes: list incoming, complete incoming, get
 * outgoing, list outgoing. The stock clients, which validate against the published schemas, accept only JSON; a client that
 * accepts anything gets everything.
 *
 * @param accept value of `Accept`; undefined when there is none
 */
export function chooseRepresentation(
  accept: string | undefined,
  setting: RepresentationSetting
): Representation {
  if (setting !== 'negotiated') return setting
  const ranges = (accept ?? '')
    .split(',')
    .map((range) => range.split(';').map((part) => part.trim()))
    .filter(([type = '', ...parameters]) => type !== '' && !parameters.some((part) => WEIGHT_ZERO.test(part)))
  const onlyJson = ranges.length > 0 && ranges.every(([type]) => type?.toLowerCase() === 'application/json')
  return onlyJson ? 'published' : 'full'
}
