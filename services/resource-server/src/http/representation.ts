import type { ChooseRepresentation, Representation } from '../domain/representation.js'

/** The service's setting: `negotiated` follows each request's `Accept`. */
export type RepresentationSetting = Representation | 'negotiated'

/** A media range with weight 0 is what the client does *not* accept. */
const WEIGHT_ZERO = /^q=0(?:\.0{0,3})?$/i

/**
 * Creates the choice of a setting. If negotiated: the stock clients, which validate against the published schemas, accept only
 * JSON; a client that accepts anything gets `updatedAt` too.
 */
export function createChooseRepresentation(
  setting: RepresentationSetting
): ChooseRepresentation<{ get(name: string): string | undefined }> {
  return (request) => {
    if (setting !== 'negotiated') return setting
    return acceptsOnlyJson(request.get('accept') ?? '') ? 'published' : 'full'
  }
}

/** @param accept value of `Accept` (RFC 9110 §12.5.1) */
function acceptsOnlyJson(accept: string): boolean {
  const ranges = accept
    .split(',')
    .map((range) => range.split(';').map((part) => part.trim()))
    .filter(([type = '', ...parameters]) => type !== '' && !parameters.some((part) => WEIGHT_ZERO.test(part)))
  return ranges.length > 0 && ranges.every(([type]) => type?.toLowerCase() === 'application/json')
}
