/** What was decided about a payment that awaited the provider's approval, with its meaning for operators. */
export const APPROVAL_DECISIONS = {
  approved: 'The provider let it go.',
  declined: 'The provider declined it.',
  timed_out: 'Nobody decided in time, which declined it.'
} as const satisfies Readonly<Record<string, string>>

/** What was decided. */
export type ApprovalDecision = keyof typeof APPROVAL_DECISIONS

/** What the provider answers. */
export type ApprovalAnswer = Exclude<ApprovalDecision, 'timed_out'>

/** The approval of a payment that met a rule. */
export interface Approval {
  /** Id (UUID) of the rule, which may be deleted meanwhile. */
  readonly ruleId: string
  readonly requestedAtMs: number
  /** When it is declined unless it is decided: its terms may end before the time that every approval has. */
  readonly expiresAtMs: number
  /** undefined while it waits. */
  readonly decided:
    | {
        readonly decision: ApprovalDecision
        readonly atMs: number
        /** Who decided: a person, or the names in a machine's certificate; undefined for a machine in plain text, and where the time was over. */
        readonly by: string | undefined
        /** As it was given; undefined if none was. */
        readonly reason: string | undefined
      }
    | undefined
}

/** Ways in which a payment reaches its receiver that a rule can name. */
export const APPROVAL_METHODS = ['local', 'ilp'] as const

/** The conditions of a rule: a payment meets it by meeting all. One that is undefined is met by every payment. */
export interface ApprovalConditions {
  /** The debit is above this, in the smallest unit of its asset. */
  readonly aboveValue: bigint | undefined
  /** Id (UUID) of the wallet address that pays. */
  readonly walletAddressId: string | undefined
  /** The client that creates the payment; see `nameClient`. */
  readonly client: string | undefined
  /** Whether the wallet address has never paid that of the receiver. */
  readonly firstPayee: boolean
  readonly method: (typeof APPROVAL_METHODS)[number] | undefined
}
