import { type Context, isSpanContextValid, trace, TraceFlags } from '@opentelemetry/api'
import { type Sampler, SamplingDecision, type SamplingResult } from '@opentelemetry/sdk-trace'
import { isFromStranger } from '@open-payments-server/runtime'

/** Options of sampling. */
export interface RatioSamplerOptions {
  /** Share of new traces that are recorded, from 0 to 1. */
  readonly ratio: number
  /** Whether external callers decide for the traces that they began. */
  readonly strangersTrusted: boolean
  /** From 0 to 1, 1 excluded; `Math.random` unless given. */
  readonly random?: () => number
}

/**
 * Records a share of the traces, each as a whole. A trace that a stranger began is sampled as if it were new, and randomly
 * rather than by its id, which the stranger chose: nobody can make us record all their requests, nor hide them.
 */
export class RatioSampler implements Sampler {
  readonly #ratio: number
  readonly #strangersTrusted: boolean
  readonly #random: () => number

  constructor({ ratio, strangersTrusted, random = Math.random }: RatioSamplerOptions) {
    this.#ratio = ratio
    this.#strangersTrusted = strangersTrusted
    this.#random = random
  }

  shouldSample(parent: Context): SamplingResult {
    const begun = trace.getSpanContext(parent)
    const isDecided =
      begun !== undefined && isSpanContextValid(begun) && this.#believes(parent, begun.isRemote)
    const isRecorded = isDecided
      ? (begun.traceFlags & TraceFlags.SAMPLED) !== 0
      : this.#random() < this.#ratio
    return { decision: isRecorded ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD }
  }

  /** Parents in this process and in our other services were sampled by us. */
  #believes(parent: Context, isRemote: boolean | undefined): boolean {
    return isRemote !== true || this.#strangersTrusted || !isFromStranger(parent)
  }

  toString(): string {
    return `RatioSampler{${this.#ratio}}`
  }
}
