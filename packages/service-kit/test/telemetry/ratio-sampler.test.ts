import { describe, expect, it } from '@jest/globals'
import { propagation, ROOT_CONTEXT, trace, TraceFlags } from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { SamplingDecision } from '@opentelemetry/sdk-trace'
import { continueTrace, type TraceSender } from '@open-payments-server/runtime'
import { RatioSampler } from '../../src/telemetry/ratio-sampler.js'

propagation.setGlobalPropagator(new W3CTraceContextPropagator())

const RECORDED = '00-00000000000000000000000000000001-00f067aa0ba902b7-01'
const NOT_RECORDED = '00-ffffffffffffffffffffffffffffffff-00f067aa0ba902b7-00'

/** Whether a trace is recorded whose draw is 0.5. */
function isRecorded(
  options: { ratio: number; strangersTrusted?: boolean },
  traceparent?: string,
  sender: TraceSender = 'stranger'
): boolean {
  const sampler = new RatioSampler({ strangersTrusted: false, random: () => 0.5, ...options })
  const { decision } = sampler.shouldSample(continueTrace(traceparent, sender))
  return decision === SamplingDecision.RECORD_AND_SAMPLED
}

describe('what is recorded', () => {
  it('is a share of the traces that begin here', () => {
    expect(isRecorded({ ratio: 0.51 })).toBe(true)
    expect(isRecorded({ ratio: 0.5 })).toBe(false)
    expect(isRecorded({ ratio: 0 })).toBe(false)
  })

  it('is the same share of traces that strangers began, whatever flags and ids they sent', () => {
    for (const traceparent of [RECORDED, NOT_RECORDED]) {
      expect(isRecorded({ ratio: 0.51 }, traceparent)).toBe(true)
      expect(isRecorded({ ratio: 0.5 }, traceparent)).toBe(false)
    }
  })

  it('is decided by the proxy in front, if it is trusted', () => {
    expect(isRecorded({ ratio: 0, strangersTrusted: true }, RECORDED)).toBe(true)
    expect(isRecorded({ ratio: 1, strangersTrusted: true }, NOT_RECORDED)).toBe(false)
    expect(isRecorded({ ratio: 0.51, strangersTrusted: true })).toBe(true)
  })

  it('is decided once for a whole trace, by the calling service or the parent span', () => {
    expect(isRecorded({ ratio: 0 }, RECORDED, 'service')).toBe(true)
    expect(isRecorded({ ratio: 1 }, NOT_RECORDED, 'service')).toBe(false)
    const begun = continueTrace(NOT_RECORDED, 'stranger')
    const local = { traceId: '1'.repeat(32), spanId: '1'.repeat(16), traceFlags: TraceFlags.SAMPLED }
    const beneath = trace.setSpanContext(begun, local)
    const never = new RatioSampler({ ratio: 0, strangersTrusted: false })
    expect(never.shouldSample(beneath).decision).toBe(SamplingDecision.RECORD_AND_SAMPLED)
    expect(never.shouldSample(ROOT_CONTEXT).decision).toBe(SamplingDecision.NOT_RECORD)
  })
})
