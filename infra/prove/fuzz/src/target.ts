import type { ErrorBody } from '@open-payments-server/http-server'
import fc from 'fast-check'

/** Something that reads what strangers send, and what must hold of it whatever they send. */
export interface Target<Case> {
  /** Its name: in the report, and to repeat a failure. */
  readonly name: string
  /** How many cases are tried here, beside the shares of the others in its list. */
  readonly share: number
  /** The least part of its cases, from 0 to 1, that must be accepted: else only the first check would be tried. 0.1 unless given. */
  readonly acceptedMin?: number
  /** Its cases; a function where they speak of what is only there once the test runs. */
  readonly cases: fc.Arbitrary<Case> | (() => fc.Arbitrary<Case>)
  /**
   * Tries a case. The same case again does the same.
   *
   * @returns {@link ACCEPTED}, or how it was refused
   * @throws what {@link refusal} knows; whatever else comes out; an error saying what does not hold
   */
  readonly attack: (input: Case) => string | Promise<string>
  /** Knows what is thrown, not rejected with, to refuse a case; nothing unless given. */
  readonly refusal?: RefusalKind
}

/** The kind of refusal that an error is; undefined for an error that must not come out. */
export type RefusalKind = (error: unknown) => string | undefined

/** The result of an accepted case. */
export const ACCEPTED = 'accepted'

/** A target whose cases only it knows, so that a list may hold targets of different cases. */
export interface AnyTarget extends Required<Pick<Target<unknown>, 'name' | 'share' | 'acceptedMin'>> {
  /** What holds when `attempt`, given each attack, does not throw. */
  property(attempt: (attack: () => string | Promise<string>) => Promise<void>): fc.IAsyncProperty<unknown>
}

/** Makes a target. */
export function target<Case>({
  cases,
  attack,
  refusal,
  acceptedMin = 0.1,
  ...told
}: Target<Case>): AnyTarget {
  const outcome = (input: Case): string | Promise<string> =>
    refusal === undefined ? attack(input) : outcomeOf(() => attack(input), refusal)
  const property: AnyTarget['property'] = (attempt) =>
    fc.asyncProperty(typeof cases === 'function' ? cases() : cases, (input) => attempt(() => outcome(input)))
  return { ...told, acceptedMin, property }
}

/**
 * What comes of an attack, or of one of its steps.
 *
 * @returns what it tells, {@link ACCEPTED} when that is nothing, or the kind of its refusal
 * @throws what is no refusal
 */
export function outcomeOf(attempt: () => unknown, refusal: RefusalKind): string {
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
 * Says what must hold.
 *
 * @throws Error with the first claim that does not
 */
export function mustHold(claims: Readonly<Record<string, boolean>>): void {
  const broken = Object.keys(claims).find((claim) => claims[claim] !== true)
  if (broken !== undefined) throw new Error(`does not hold: ${broken}`)
}

/** What an error is answered with: a code and a description. */
export function mustBeErrorBody(body: unknown): void {
  const { error } = body as Partial<ErrorBody>
  const texts = [error?.code, error?.description]
  mustHold({ 'an error has a code and a description': texts.every((text) => typeof text === 'string') })
}
