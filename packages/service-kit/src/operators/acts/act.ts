import type { Asset } from '@open-payments-server/value-types/amounts'

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

/** Money that an act moves or frees. */
export interface ActAmount {
  readonly asset: Asset
  /** In units of the asset's scale; undefined for any amount. */
  readonly value: bigint | undefined
}

/** What is recorded of a call that changes something, and when it needs a second person. */
export interface Act<Request, Response, Dependencies> {
  /**
   * What it concerns.
   *
   * @param response undefined before it is done
   */
  readonly subject: (request: Request, response: Response | undefined) => Subject
  /**
   * The subject as it is at the moment, in the form in which calls answer it, without secrets. Undefined, or a refusal, where there is
   * none. None is recorded unless given.
   */
  readonly look?: (request: Request, dependencies: Dependencies) => Promise<unknown>
  /** The subject after it, as `look` would find it, of an answer that has it. Without `look`, nothing is there before. */
  readonly made?: (response: Response) => unknown
  /** Fields of the request that are never recorded. A request that has one cannot be proposed. */
  readonly secrets?: readonly (keyof Request & string)[]
  /** Enumerations of the request, by its fields. */
  readonly enumerations?: Readonly<Record<string, Readonly<Record<number, string>>>>
  /** Asks others before the transaction, in which nothing may be waited for but the database. */
  readonly prepare?: (request: Request, dependencies: Dependencies) => Promise<void>
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
  /** What it moves or frees; undefined where it moves nothing. Asked in the transaction, after it was done. */
  readonly amount?: (request: Request, dependencies: Dependencies) => Promise<ActAmount | undefined>
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
