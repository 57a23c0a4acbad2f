export { type RunningTelemetry, startTelemetry, type TelemetryConfig, withTelemetry } from './telemetry.js'
