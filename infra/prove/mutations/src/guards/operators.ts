import type { Mutation, TestReference } from '../mutation.js'

const ACTS = 'packages/service-kit/src/operators/acts/acts.ts'
const PLAIN = 'packages/service-kit/src/operators/acts/plain.ts'
const MIGRATION = 'services/resource-server/prisma/migrations/20261204000000_operator_actions/migration.sql'

const acting = (title: string): TestReference => ({
  file: 'services/resource-server/test/operator-actions.test.ts',
  title
})
const proposing = (title: string): TestReference => ({
  file: 'services/resource-server/test/operator-proposals.test.ts',
  title
})

/** What operators do is recorded, and what needs a second person is not done by one. */
export const OPERATOR_GUARDS: readonly Mutation[] = [
  {
    guard: 'an act is in one transaction with its record',
    file: ACTS,
    text: 'await recordAction(transaction, { ...action, subject: seen.subject }, end)',
    broken: 'later(() => recordAction(this.#options.database, { ...action, subject: seen.subject }, end))',
    test: acting('are one: nothing is done that cannot be recorded')
  },
  {
    guard: 'a refusal is recorded',
    file: ACTS,
    text: 'if (problem !== undefined)\n        await recordAction(database, action,',
    broken: 'if (problem === action.id)\n        await recordAction(database, action,',
    test: acting('is recorded when it was refused, unless it was malformed')
  },
  {
    guard: 'what is secret in a request is not recorded',
    file: PLAIN,
    text: '!secrets.includes(name) && ',
    broken: '(secrets.length >= 0 || name === value) && ',
    test: acting('is recorded without secrets')
  },
  {
    guard: 'the record of an act never changes',
    file: MIGRATION,
    text: "if tg_op = 'UPDATE' and old.outcome is null and new.outcome is not null",
    broken: "if tg_op = 'UPDATE' or old.outcome is null and new.outcome is not null",
    test: acting('never changes, whatever anybody sends to the database')
  },
  {
    guard: 'what needs a second person is not done by one',
    file: ACTS,
    text: "if (seen.outcome === 'done' && (await this.#needsSecondPerson(order, on))) {",
    broken: "if (seen.outcome !== 'done' && (await this.#needsSecondPerson(order, on))) {",
    test: proposing('is done once another person has approved it, and is told as the act of both')
  },
  {
    guard: 'a proposal is not approved by whoever proposed it',
    file: ACTS,
    text: 'if (isSamePerson(proposal.proposer, context.actor)) throw samePerson()',
    broken: '',
    test: proposing('is not approved by whoever proposed it')
  },
  {
    guard: 'the database refuses the approval of whoever proposed it',
    file: MIGRATION,
    text: "decision is distinct from 'approved' or (proposer_issuer, proposer_sub) is distinct from (decider_issuer, decider_sub)",
    broken: 'true',
    test: proposing('is not approved by a machine where a machine proposed it')
  },
  {
    guard: 'a proposal is decided once',
    file: ACTS,
    text: 'assertOpen(proposal, nowMs)',
    broken: '',
    test: proposing('has one outcome, however many decide at the same time')
  },
  {
    guard: 'a request with a secret in it is not proposed',
    file: ACTS,
    text: 'assertProposable(order)',
    broken: '',
    test: proposing('is not without a second person at first, whose eyes a secret is not for')
  }
]
