import { randomUUID } from 'node:crypto'
import { type Attributes, context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, type SpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { parsePairs, type Secret } from '@open-payments-server/runtime/configuration'
import { type Logger, type Part, type RunningService, within } from '@open-payments-server/runtime'
import { RatioSampler } from './ratio-sampler.js'
import { TellingExporter } from './telling-exporter.js'

/** The settings of traces. */
export interface TelemetryConfig {
  readonly OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined
  readonly OTEL_EXPORTER_OTLP_HEADERS?: Secret | undefined
  readonly OTEL_SERVICE_NAME?: string | undefined
  readonly OTEL_RESOURCE_ATTRIBUTES?: Readonly<Record<string, string>> | undefined
  readonly OTEL_TRACES_SAMPLER_ARG: number
  readonly TRACE_CONTEXT_TRUSTED: boolean
}

/** The source of traces. */
export interface TelemetrySource {
  /** Name of the service, unless its settings name another. */
  readonly service: string
  readonly version: string
  readonly logger: Logger
}

/** Traces, being recorded. */
export interface RunningTelemetry extends Part {
  /** Sends waiting spans. */
  flush(): Promise<void>
}

/** Maximum number of spans that wait to be sent; more are dropped. */
const QUEUE_SPANS_MAX = 8_192
const BATCH_SPANS_MAX = 512
/** How long spans wait to be sent together with others. */
const BATCH_DELAY_MS = 2_000
/** How long the collector may take to receive a batch, retries included. */
const EXPORT_TIMEOUT_MS = 5_000
/** How long the last spans may take to be sent when the service stops. */
const STOP_TIMEOUT_MS = 2_000
/** Maximum length of an attribute's value, in characters. */
const ATTRIBUTE_LENGTH_MAX = 256

/**
 * Starts giving requests, calls and batches their traces and, if a collector is configured, recording and sending them.
 * Once per process.
 */
export function startTelemetry(config: TelemetryConfig, source: TelemetrySource): RunningTelemetry {
  const { logger } = source
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } = config
  setGlobalErrorHandler((error) => {
    logger.debug({ err: error }, 'a span was lost')
  })
  const provider = new TracerProvider({
    resource: resourceFromAttributes(describe(config, source)),
    sampler: new RatioSampler({
      ratio: endpoint === undefined ? 0 : config.OTEL_TRACES_SAMPLER_ARG,
      strangersTrusted: endpoint !== undefined && config.TRACE_CONTEXT_TRUSTED
    }),
    spanLimits: { attributeValueLengthLimit: ATTRIBUTE_LENGTH_MAX },
    spanProcessors: endpoint === undefined ? [] : [exportTo(endpoint, config, logger)]
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  trace.setGlobalTracerProvider(provider)
  if (endpoint !== undefined)
    logger.info({ endpoint, ratio: config.OTEL_TRACES_SAMPLER_ARG }, 'traces are exported')
  return {
    name: 'telemetry',
    flush: () => provider.forceFlush(),
    async stop() {
      try {
        await within(STOP_TIMEOUT_MS, 'the collector of traces', provider.shutdown())
      } catch (error) {
        logger.warn({ err: error }, 'the last traces were not exported')
      }
    }
  }
}

/**
 * Runs a service with traces: they start before it and stop after it.
 *
 * @throws the error of `start`, after traces were stopped
 */
export async function withTelemetry(
  config: TelemetryConfig,
  source: TelemetrySource,
  start: () => Promise<RunningService>
): Promise<RunningService> {
  const telemetry = startTelemetry(config, source)
  try {
    const service = await start()
    return {
      async stop() {
        await service.stop()
        await telemetry.stop()
      }
    }
  } catch (error) {
    await telemetry.stop()
    throw error
  }
}

function describe(config: TelemetryConfig, { service, version }: TelemetrySource): Attributes {
  return {
    'service.instance.id': randomUUID(),
    'service.version': version,
    ...config.OTEL_RESOURCE_ATTRIBUTES,
    'service.name': config.OTEL_SERVICE_NAME ?? config.OTEL_RESOURCE_ATTRIBUTES?.['service.name'] ?? service
  }
}

function exportTo(endpoint: string, config: TelemetryConfig, logger: Logger): SpanProcessor {
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/$/, '')}/v1/traces`,
    headers: parsePairs(config.OTEL_EXPORTER_OTLP_HEADERS?.reveal() ?? '') ?? {},
    timeoutMillis: EXPORT_TIMEOUT_MS
  })
  return new BatchSpanProcessor({
    exporter: new TellingExporter(exporter, logger),
    maxQueueSize: QUEUE_SPANS_MAX,
    maxExportBatchSize: BATCH_SPANS_MAX,
    scheduledDelayMillis: BATCH_DELAY_MS,
    exportTimeoutMillis: EXPORT_TIMEOUT_MS * 2
  })
}
