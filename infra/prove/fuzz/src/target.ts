import type { ErrorBody } from '@open-payments-server/http-server'
import fc from 'fast-check'

/** Code that reads untrusted input, and the properties that it must have for any input. */
export interface Target<Case> {
  /** Its name: in the report, and to repeat a failure. */
  readonly name: string
  /** Its share of the cases, relative to the others in its list. */
  readonly share: number
  /** Minimum share of cases, from 0 to 1, that must be accepted: otherwise only the first check would be tested. Default: 0.1. */
  readonly acceptedMin?: number
  /** Its cases; a function if they need what exists only once the test runs. */
  readonly cases: fc.Arbitrary<Case> | (() => fc.Arbitrary<Case>)
  /**
   * Tries a case. Deterministic.
   *
   * @returns {@link ACCEPTED}, or how it was refused
   * @throws what {@link refusal} knows; anything else is a defect, such as an error naming a property that does not hold
   */
  readonly attack: (input: Case) => string | Promise<string>
  /** How long a case itself asks to wait, in milliseconds; default: none do. */
  readonly waitMs?: (input: Case) => number
  /** Recognises errors that are thrown, not rejected with, to refuse a case; default: none. */
  readonly refusal?: RefusalKind
}

/** The kind of a refusal; undefined for an error that must not occur. */
export type RefusalKind = (error: unknown) => string | undefined

/** The result of an accepted case. */
export const ACCEPTED = 'accepted'

/** A target that hides the type of its cases, so that a list can contain targets of different cases. */
export interface AnyTarget extends Required<Pick<Target<unknown>, 'name' | 'share' | 'acceptedMin'>> {
  /** The property that `attempt` does not throw for any attack, which waits for `waitMs` by itself. */
  property(
    attempt: (attack: () => string | Promise<string>, waitMs: number) => Promise<void>
  ): fc.IAsyncProperty<unknown>
}

/** Makes a target. */
export function target<Case>({
  cases,
  attack,
  waitMs,
  refusal,
  acceptedMin = 0.1,
  ...told
}: Target<Case>): AnyTarget {
  const result = (input: Case): string | Promise<string> =>
    refusal === undefined ? attack(input) : resultOf(() => attack(input), refusal)
  const property: AnyTarget['property'] = (attempt) =>
    fc.asyncProperty(typeof cases === 'function' ? cases() : cases, (input) =>
      attempt(() => result(input), waitMs?.(input) ?? 0)
    )
  return { ...told, acceptedMin, property }
}

/**
 * The result of an attack, or of one of its steps.
 *
 * @returns what it returns, {@link ACCEPTED} for nothing, or the kind of its refusal
 * @throws anything that is not a refusal
 */
export function resultOf(attempt: () => unknown, refusal: RefusalKind): string {
  try {
    const told = attempt()
    return typeof told === 'string' ? told : ACCEPTED
  } catch (error) {
    const kind = refusal(error)
    if (kind === undefined) throw error
    return kind
  }
}

/**
 * States properties that must hold.
 *
 * @throws Error with the first claim that does not
 */
export function mustHold(claims: Readonly<Record<string, boolean>>): void {
  const broken = Object.keys(claims).find((claim) => claims[claim] !== true)
  if (broken !== undefined) throw new Error(`does not hold: ${broken}`)
}

/** The answer to an error: a code and a description. */
export function mustBeErrorBody(body: unknown): void {
  const { error } = body as Partial<ErrorBody>
  const texts = [error?.code, error?.description]
  mustHold({ 'an error has a code and a description': texts.every((text) => typeof text === 'string') })
}
