import * as setting from './settings.js'

/** Traces. Settings that start with `OTEL_` follow the OpenTelemetry specification. */
export const telemetrySettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: setting
    .url({
      description:
        'Collector to which traces are sent, by OTLP over HTTP (JSON): `/v1/traces` is appended. Without it no traces are recorded.',
      example: 'http://opentelemetry-collector:4318'
    })
    .optional(),
  OTEL_EXPORTER_OTLP_HEADERS: setting
    .secretPairs({
      description: 'Headers for the collector, as `name=value` separated by commas, values percent-encoded.',
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
      description: 'Name of the service in traces. Default: its own.',
      example: 'open-payments-resource-server'
    })
    .optional(),
  OTEL_RESOURCE_ATTRIBUTES: setting
    .pairs({
      description:
        'Additional attributes of the process in traces, as `name=value` separated by commas, values percent-encoded.',
      example: 'deployment.environment.name=production,k8s.namespace.name=open-payments'
    })
    .optional(),
  TRACE_CONTEXT_TRUSTED: setting
    .flag({
      description:
        'Whether HTTP callers decide with `traceparent` what is recorded. Only for use behind a proxy that sets or removes that header. Otherwise their trace is continued, and OTEL_TRACES_SAMPLER_ARG decides.',
      example: 'true'
    })
    .prefault('false')
}
