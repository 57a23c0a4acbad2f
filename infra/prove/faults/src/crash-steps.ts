import type { StatementPoint } from './database-proxy.js'

/** A point in the course of a payment: a statement of a service. */
export interface PaymentPoint<Service extends string> extends StatementPoint {
  /** The service that sends it. */
  readonly of: Service
}

/** What happens when a payment reaches a point. */
export interface CrashStep<Service extends string> {
  readonly at: PaymentPoint<Service>
  /**
   * `kill`: a service is killed there. `delay`: the statement waits there until all steps were taken. `pass`: nothing; the
   * next step is looked for from there on.
   */
  readonly do: { readonly kill: Service } | 'delay' | 'pass'
}

/** A crash at one step boundary of a payment. */
export interface Crash<Service extends string> {
  readonly name: string
  /** Taken in this order. */
  readonly steps: readonly CrashStep<Service>[]
}

type Moment = StatementPoint['moment']

/** Names the points of a statement. */
export const statementOf =
  <Service extends string>(of: Service, statement: RegExp) =>
  (moment: Moment): PaymentPoint<Service> => ({ of, statement, moment })

/** A service is killed at a point. */
export const kill = <Service extends string>(
  service: Service,
  at: PaymentPoint<Service>
): CrashStep<Service> => ({ at, do: { kill: service } })

/** A statement waits at a point until all steps were taken. */
export const delay = <Service extends string>(at: PaymentPoint<Service>): CrashStep<Service> => ({
  at,
  do: 'delay'
})

/** The next step is looked for from a point on. */
export const pass = <Service extends string>(at: PaymentPoint<Service>): CrashStep<Service> => ({
  at,
  do: 'pass'
})
