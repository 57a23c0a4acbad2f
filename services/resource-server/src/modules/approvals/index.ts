/**
 * The provider's approval of payments: the rules that ask for it, what was decided about each payment that met one, and whom
 * each wallet address has paid.
 */
export {
  type AwaitingPayment,
  approving,
  decided,
  decidingParameters,
  declining,
  findApproval,
  findAwaiting,
  isAnyOverdue,
  listAwaiting,
  metAnyRule,
  type NewDecision,
  overdue,
  requested,
  undecidedPayments
} from './approval.js'
export { approvalsWaiting } from './measure.js'
export { isPayeeKnown, paid } from './payees.js'
export { type ApprovalRule, deleteRule, INSERTED_RULE, insertingRule, listRules, metRule } from './rules.js'
