import * as setting from './settings.js'

/** Traces. Those that begin with `OTEL_` are named and written as the OpenTelemetry specification has them. */
export const telemetrySettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: setting
    .url({
      description:
        'Collector that traces are sent to, by OTLP over HTTP (JSON): `/v1/traces` is added. Without it none are recorded.',
      example: 'http://opentelemetry-collector:4318'
    })
    .optional(),
  OTEL_EXPORTER_OTLP_HEADERS: setting
    .secretPairs({
      description:
        'Headers that the collector wants, as `name=value` separated by commas, values percent-encoded.',
      example: 'authorization=Bearer%20a-long-random-text'
    })
    .optional(),
  OTEL_TRACES_SAMPLER_ARG: setting
    .ratio({
      description: 'Share of traces that are recorded and sent, from 0 to 1.',
      example: '0.05'
    })
    .prefault('1'),
  OTEL_SERVICE_NAME: setting
    .text({
      description: 'Name of the service in traces: its own unless set.',
      example: 'open-payments-resource-server'
    })
    .optional(),
  OTEL_RESOURCE_ATTRIBUTES: setting
    .pairs({
      description:
        'What else traces say of the process, as `name=value` separated by commas, values percent-encoded.',
      example: 'deployment.environment.name=production,k8s.namespace.name=open-payments'
    })
    .optional(),
  TRACE_CONTEXT_TRUSTED: setting
    .flag({
      description:
        'Whether who calls over HTTP decides with `traceparent` what is recorded: only where a proxy in front sets or removes that header. Else its trace is continued, and OTEL_TRACES_SAMPLER_ARG decides.',
      example: 'true'
    })
    .prefault('false')
}
