import type { Mutation, TestReference } from '../mutation.js'

const ACTS = 'packages/service-kit/src/operators/acts/acts.ts'
const PERFORM = 'packages/service-kit/src/operators/acts/perform.ts'
const PLAIN = 'packages/service-kit/src/operators/acts/plain.ts'
const MIGRATION = 'services/resource-server/prisma/migrations/20261204000000_operator_actions/migration.sql'

const acting = (title: string): TestReference => ({
  file: 'services/resource-server/test/operator-actions.test.ts',
  title
})
const deciding = (title: string): TestReference => ({
  file: 'services/resource-server/test/decide-together.test.ts',
  title
})
const proposing = (title: string): TestReference => ({
  file: 'services/resource-server/test/operator-proposals.test.ts',
  title
})

const risking = (title: string): TestReference => ({
  file: 'services/resource-server/test/peer-proposals.test.ts',
  title
})
const WALLET_ACTS = 'services/resource-server/src/grpc/operator/acts.ts'
const freeing = (title: string): TestReference => ({
  file: 'services/resource-server/test/account-proposals.test.ts',
  title
})
const PEER_ACTS = 'services/resource-server/src/grpc/operator/peer-acts.ts'

const owning = (title: string): TestReference => ({
  file: 'services/resource-server/test/own-matter.test.ts',
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
    text: "seen.outcome === 'done' &&\n          (await needsSecondPerson(",
    broken: "seen.outcome !== 'done' &&\n          (await needsSecondPerson(",
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
    guard: 'one person is one at every client, whatever `sub` they have there',
    file: 'packages/service-kit/src/operators/operator-tokens.ts',
    text: 'if (personClaim === undefined) return sub',
    broken: "if (personClaim !== '') return sub",
    test: proposing('is not approved by whoever proposed it at another client, where they have another `sub`')
  },
  {
    guard: 'nobody operates by pairwise subjects alone',
    file: 'packages/service-kit/src/operators/operator-tokens.ts',
    text: 'if (personClaim === undefined && arePairwise(await keys.subjectTypesOf(iss)))',
    broken: "if (personClaim === '' && arePairwise(await keys.subjectTypesOf(iss)))",
    test: {
      file: 'packages/service-kit/test/operators/operators.test.ts',
      title: 'is not admitted without such a claim'
    }
  },
  {
    guard: 'a machine is no second person',
    file: ACTS,
    text: 'if (context.actor.person === undefined) throw noPerson()',
    broken: '',
    test: proposing('is not approved by a machine, whoever proposed it')
  },
  {
    guard: 'a payment is not approved by whoever holds the account that pays',
    file: PERFORM,
    text: 'if (isOwn(context.actor)) throw ownMatter(field)',
    broken: '',
    test: deciding('is not approved by whoever holds the account that pays')
  },
  {
    guard: 'whoever holds an account does not give it away, so as to decide about it',
    file: WALLET_ACTS,
    text: '...(await holdersOf(accountName, dependencies)),',
    broken: '',
    test: deciding(
      'is not approved by giving the account away, or taking another, nor does its holder free it or move its money'
    )
  },
  {
    guard: 'whoever holds the account that pays is no second person for its payment',
    file: PERFORM,
    text: "if (approver !== undefined && isOwn(approver)) throw ownMatter('proposal_id')",
    broken: '',
    test: deciding('needs a second person who does not hold the account that pays, as the first does not')
  },
  {
    guard: 'whoever holds the account that is paid does not approve the payment',
    file: WALLET_ACTS,
    text: '...(payee === undefined ? [] : [payee])]',
    broken: '...(payee === undefined ? [] : [])]',
    test: owning('nobody approves a payment to an account that they hold')
  },
  {
    guard: 'whoever holds an account does not decide which payments from it await approval',
    file: ACTS,
    text: 'await assertNotOwn(order, dependencies)\n      response = ',
    broken: 'response = ',
    test: owning(
      'nobody makes or deletes rules about payments from an account that they hold, nor those about everybody'
    )
  },
  {
    guard: 'the database refuses the approval of whoever proposed it',
    file: MIGRATION,
    text: "decision is distinct from 'approved' or (proposer_issuer, proposer_sub) is distinct from (decider_issuer, decider_sub)",
    broken: 'true',
    test: proposing('is not approved by a machine, whoever proposed it')
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
  },
  {
    guard: 'what somebody wrote into a proposal changes nothing around it on the page of its approver',
    file: 'services/web/src/features/console/members.ts',
    text: 'const text = presentableWhole(value)',
    broken: 'const text = value',
    test: {
      file: 'services/web/src/features/console/members.test.ts',
      title: 'is no other than it says, and in the direction of the page'
    }
  },
  {
    guard: 'nobody acts by the key of a machine beside themselves',
    file: 'packages/service-kit/src/operators/settings.ts',
    text: 'if (isProduction && config.OPERATOR_ISSUERS !== undefined)',
    broken: "if (isProduction && config.OPERATOR_ISSUERS === '')",
    test: {
      file: 'packages/service-kit/src/operators/settings.test.ts',
      title:
        'is refused in production where people sign in, with a machine that may act as operator beside them'
    }
  },
  {
    guard: 'a packet that moves much is not decided by one, whatever part of it is said to have arrived',
    file: PEER_ACTS,
    text: `amount: async ({ name }, dependencies, before) =>
      amountOf((await getPeer(name, dependencies)).peer.asset, seenPacket.parse(before).packet.value)`,
    broken: `amount: async ({ name, arrivedValue }, dependencies, before) =>
      amountOf((await getPeer(name, dependencies)).peer.asset, arrivedValue || seenPacket.parse(before).packet.value)`,
    test: risking('counts with all that it stands for, also where one says that a part arrived')
  },
  {
    guard: 'a packet is decided as its second person was shown it',
    file: PEER_ACTS,
    text: "replaces: () => ['packet'],",
    broken: 'replaces: () => [],',
    test: risking('counts with all that it stands for, also where one says that a part arrived')
  },
  {
    guard: 'a packet is decided by one only with its fulfillment',
    file: PEER_ACTS,
    text: 'isHarmless: ({ fulfillment }) => fulfillment !== undefined',
    broken: 'isHarmless: ({ arrived }) => arrived',
    test: risking('arrived, as two say, who see what it moves')
  },
  {
    guard: 'what proves that a packet arrived is its own fulfillment',
    file: 'services/resource-server/src/features/operate-peers/unknown-packets.ts',
    text: 'if (proof !== undefined && conditionOf(proof).equals(condition)) return proof',
    broken: 'if (proof !== undefined) return proof',
    test: risking('is not decided by what proves nothing about it')
  },
  {
    guard: 'what a peer may be owed is not raised by one',
    file: PEER_ACTS,
    text: "const DEBT_LIMITS = ['receivableLimitValue', 'payableLimitValue'] as const",
    broken: "const DEBT_LIMITS = ['receivableLimitValue'] as const",
    test: risking('is raised to the amount, or without end, by two')
  },
  {
    guard: 'no peer is made by one that could get what is for another',
    file: 'services/resource-server/src/features/operate-peers/peers.ts',
    text: '(await peers.leadsElsewhere(database, { ilpAddress, name }))',
    broken: "(await peers.leadsElsewhere(database, { ilpAddress: '', name }))",
    test: risking(
      'is not made by one where it has the address of another peer, and the refusal says how it is'
    )
  },
  {
    guard: 'where payments to a peer go is not changed by one',
    file: PEER_ACTS,
    text: 'if (!isDeepStrictEqual(goesTo, [was.ilpAddress, was.endpoint, was.routes]))',
    broken: 'if (goesTo.length === 0)',
    test: risking('is changed by two: the endpoint')
  },
  {
    guard: 'a peer that may be owed much is not made by one',
    file: PEER_ACTS,
    text: 'largestOf(asset, [receivableLimitValue, payableLimitValue])',
    broken: 'largestOf(asset, [receivableLimitValue])',
    test: risking('is not made by one where it may be owed any amount, and the refusal says how it is')
  },
  {
    guard: 'an account that holds much is not given to another holder by one',
    file: WALLET_ACTS,
    text: 'return gainsNothing ? undefined : balance',
    broken: 'return gainsNothing ? balance : undefined',
    test: freeing('gets another holder by two, and by one below the amount')
  },
  {
    guard: 'an account that holds much is not unfrozen by one',
    file: WALLET_ACTS,
    text: 'amount: ({ accountName }, dependencies) => balanceOf(accountName, dependencies)',
    broken: '',
    test: freeing('is unfrozen by two, and by one below the amount')
  },
  {
    guard: 'a wallet address whose account holds much is not unfrozen by one',
    file: WALLET_ACTS,
    text: `amount: async ({ walletAddress }, dependencies) =>
      balanceOf((await getWalletAddress(walletAddress, dependencies)).accountName, dependencies)`,
    broken: '',
    test: freeing('has its wallet address unfrozen by two, and by one below the amount')
  },
  {
    guard: 'no further wallet address of an account that holds much is made by one',
    file: WALLET_ACTS,
    text: 'return isFurther ? balanceOf(accountName, dependencies) : undefined',
    broken: 'return isFurther ? undefined : balanceOf(accountName, dependencies)',
    test: freeing('gets a further wallet address by two, and by one below the amount')
  },
  {
    guard: 'a rule by which payments await approval is not deleted by one',
    file: WALLET_ACTS,
    text: "amount: () => Promise.resolve('any')",
    broken: '',
    test: freeing('a rule about payments from everybody is deleted by two')
  }
]
