import type { Metrics } from './metrics.js'

/** A certificate that is replaced before it expires. */
export interface ReplacedCertificate {
  /** When the one in use stops being good, in milliseconds since the Unix epoch. */
  readonly expiresAtMs: number
}

/**
 * Publishes when the first of the certificates in use stops being good, as `docs/metrics.md` lists it; nothing where there
 * are none.
 */
export function publishCertificates(
  metrics: Pick<Metrics, 'addLiveGauge'>,
  watched: readonly (ReplacedCertificate | undefined)[]
): void {
  const certificates = watched.filter((certificate) => certificate !== undefined)
  if (certificates.length === 0) return
  metrics.addLiveGauge(
    {
      name: 'open_payments_tls_certificate_expiry_timestamp_seconds',
      help: 'When the first of the certificates in use for gRPC stops being good, in seconds since 1970.'
    },
    () => Math.min(...certificates.map(({ expiresAtMs }) => expiresAtMs)) / 1_000
  )
}
