import { type ExportResult, ExportResultCode } from '@opentelemetry/core'
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace'
import type { Logger } from '@open-payments-server/runtime'

/** Logs when spans can no longer be sent, and when they can again; once each, so that an outage does not fill the log. */
export class TellingExporter implements SpanExporter {
  readonly #exporter: SpanExporter
  readonly #logger: Logger
  #failing = false

  constructor(exporter: SpanExporter, logger: Logger) {
    this.#exporter = exporter
    this.#logger = logger
  }

  export(spans: ReadableSpan[], onResult: (result: ExportResult) => void): void {
    this.#exporter.export(spans, (result) => {
      if (result.code === ExportResultCode.SUCCESS) this.#succeed()
      else this.#fail(result.error, spans.length)
      // Already logged here; the processor would log it again.
      onResult({ code: ExportResultCode.SUCCESS })
    })
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown()
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.()
  }

  #succeed(): void {
    if (this.#failing) this.#logger.info('traces are exported again')
    this.#failing = false
  }

  #fail(error: Error | undefined, spans: number): void {
    // Not the error itself, which contains the collector's answer.
    const { code } = (error ?? {}) as { code?: unknown }
    const fields = { spans, reason: error?.message, code }
    if (this.#failing) this.#logger.debug(fields, 'traces not exported')
    else this.#logger.warn(fields, 'traces not exported: is the collector there? They are dropped meanwhile')
    this.#failing = true
  }
}
