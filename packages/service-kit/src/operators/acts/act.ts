import type { Amount } from '@open-payments-server/value-types/amounts'
import type { Person } from '../operator.js'

/** What an act concerns. */
export interface Subject {
  readonly kind:
    | 'account'
    | 'approval-rule'
    | 'asset'
    | 'client'
    | 'grant'
    | 'payment'
    | 'peer'
    | 'proposal'
    | 'service'
    | 'wallet-address'
    | 'webhook-endpoint'
  /** Its name, id or URL, as the contract names it; empty for the service, and for what has no name before it is created. */
  readonly name: string
}

/** Money that an act moves, frees or puts at risk; `any` where nothing bounds it. */
export type ActAmount = Amount | 'any'

/** A person, as their issuer names them. */
export type PersonName = Pick<Person, 'issuer' | 'sub'>

/** Whose own matter an act is. */
export interface OwnMatter<Request, Dependencies> {
  /** The field of the request that names what it concerns, as the contract spells it. */
  readonly field: string
  /**
   * Those people. Asked in the transaction; for what there is not, a refusal, which counts as nobody: the call itself refuses it.
   *
   * @param asking who orders or approves it: where it may be the matter of many, only these have to be found
   */
  readonly people: (
    request: Request,
    dependencies: Dependencies,
    asking: readonly PersonName[]
  ) => Promise<readonly PersonName[]>
}

/** What is recorded of a call that changes something, and when it needs a second person. */
export interface Act<Request, Response, Dependencies> {
  /**
   * What it concerns, by its one name, however the request spells it: acts on the same subject wait for each other, and are found by it. What
   * names nothing stays as it was written.
   *
   * @param response undefined before it is done
   */
  readonly subject: (request: Request, response: Response | undefined, dependencies: Dependencies) => Subject
  /**
   * The subject as it is at the moment, in the form in which calls answer it, without secrets. Undefined, or a refusal, where there is
   * none. None is recorded unless given. It decides nothing: it need not show all that the act changes, and others may change it meanwhile.
   */
  readonly look?: (request: Request, dependencies: Dependencies) => Promise<unknown>
  /** The subject after it, as `look` would find it, of an answer that has it. Without `look`, nothing is there before. */
  readonly made?: (response: Response) => unknown
  /**
   * Members of the subject, as `look` finds it, that it replaces or ends. Its second person is shown them as they were when it was proposed, so
   * it is approved only while they are still so.
   */
  readonly replaces?: (request: Request) => readonly string[]
  /** Fields of the request that are never recorded. A request that has one cannot be proposed. */
  readonly secrets?: readonly (keyof Request & string)[]
  /** What to do in place of a request that has one and needs a second person: words that follow a colon. */
  readonly withoutSecrets?: string
  /** Enumerations of the request, by its fields. */
  readonly enumerations?: Readonly<Record<string, Readonly<Record<number, string>>>>
  /** Asks others before the transaction, in which nothing may be waited for but the database. */
  readonly prepare?: (request: Request, dependencies: Dependencies) => Promise<void>
  /**
   * Tells others again that something about the subject changed: where an approval is repeated, which may have told nobody after its
   * transaction was committed.
   */
  readonly tellAgain?: (request: Request, dependencies: Dependencies) => Promise<void>
  /** Whose own matter it is: they may neither order nor approve it. */
  readonly ownMatter?: OwnMatter<Request, Dependencies>
  /**
   * That it takes several steps, and cannot be in one transaction with its record: it is recorded before it begins, and its end after
   * that.
   */
  readonly inSteps?: true
  /** That it protects, and never waits for a second person. */
  readonly neverWaits?: true
  /** That every request or answer of it holds a secret: it cannot be proposed, and is refused where it needs a second person. */
  readonly holdsSecret?: true
  /** Whether a request does so little that it never needs a second person. */
  readonly isHarmless?: (request: Request) => boolean
  /**
   * What it moves, frees or puts at risk; undefined where it does nothing of that. Asked in the transaction, after it was done.
   *
   * @param before the subject as `look` found it, as JSON has it; undefined where there was none
   */
  readonly amount?: (
    request: Request,
    dependencies: Dependencies,
    before: Readonly<Record<string, unknown>> | undefined
  ) => Promise<ActAmount | undefined>
}

/** What an act tells of itself. */
export interface Acting {
  /**
   * That it was so already: the statement that would have changed something changed nothing. Every act that does not say so counts as done,
   * and may need a second person.
   */
  readonly onUnchanged: () => void
}

/** What is done after a transaction was committed. */
export type Later = (work: () => void | Promise<void>) => void

/** An object whose methods are called later. They answer nothing. */
export function deferred<Target extends object>(target: Target, later: Later): Target {
  return new Proxy(target, {
    get(of, name) {
      const value: unknown = Reflect.get(of, name)
      if (typeof value !== 'function') return value
      return (...parameters: unknown[]) => {
        later(() => {
          Reflect.apply(value, of, parameters)
        })
      }
    }
  })
}
