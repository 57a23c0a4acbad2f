import fc from 'fast-check'

/** Something that reads what strangers send, and what must hold of it whatever they send. */
export interface Target<Case> {
  /** Its name: in the report, and to repeat a failure. */
  readonly name: string
  /** How many of 10,000 cases are tried here; those of all targets come to 10,000. */
  readonly share: number
  /** The least part of its cases, from 0 to 1, that must be accepted: else only the first check would be tried. */
  readonly acceptedMin: number
  /** Its cases; a function where they speak of what is only there once the test runs. */
  readonly cases: fc.Arbitrary<Case> | (() => fc.Arbitrary<Case>)
  /**
   * Tries a case. The same case again does the same.
   *
   * @returns {@link ACCEPTED}, or how it was refused
   * @throws whatever else comes out, or an error saying what does not hold
   */
  readonly attack: (input: Case) => string | Promise<string>
}

/** What came of a case that was taken for good. */
export const ACCEPTED = 'accepted'

/** A target whose cases only it knows, so that a list may hold targets of different cases. */
export interface AnyTarget extends Pick<Target<unknown>, 'name' | 'share' | 'acceptedMin'> {
  /** What holds when `attempt`, given each attack, does not throw. */
  property(attempt: (attack: () => string | Promise<string>) => Promise<void>): fc.IAsyncProperty<unknown>
}

/** Makes a target. */
export function target<Case>({ cases, attack, ...told }: Target<Case>): AnyTarget {
  const property: AnyTarget['property'] = (attempt) =>
    fc.asyncProperty(typeof cases === 'function' ? cases() : cases, (input) => attempt(() => attack(input)))
  return { ...told, property }
}

/**
 * How something was refused.
 *
 * @param describe the kind of refusal that an error is; undefined for an error that must not come out
 * @returns what `attempt` answers, or the kind of its refusal
 * @throws what `describe` does not know
 */
export function refusedAs(attempt: () => string, describe: (error: unknown) => string | undefined): string {
  try {
    return attempt()
  } catch (error) {
    const kind = describe(error)
    if (kind === undefined) throw error
    return kind
  }
}

/**
 * Says what must hold.
 *
 * @throws Error with the claim, when it does not
 */
export function mustHold(holds: boolean, claim: string): void {
  if (!holds) throw new Error(`does not hold: ${claim}`)
}
