import fc from 'fast-check'
import { APPROVAL_TIMEOUT_SECONDS } from './money-model.js'
import { BEGIN_WITHIN_SECONDS, type Manner } from './money-model-peers.js'
import { type Freezable, type ModelRule, OWNERS } from './money-operations.js'
import type { Choice, ChoicesTogether, MoneyWorld, Pick } from './money-world.js'

/** The commands that fast-check combines. The world is both its model and its real system: each command acts on both. */
type MoneyCommand = fc.AsyncCommand<MoneyWorld, MoneyWorld>

const COMMANDS_MAX = 120
/** Maximum delay of one of several concurrent operations, in milliseconds. */
const LATE_MAX_MS = 6

/** The newest is chosen most often. */
const which: fc.Arbitrary<Pick> = fc.oneof(fc.nat({ max: 2 }), fc.nat({ max: 500 }))
const owner = fc.constantFrom(...OWNERS)
const value = fc.oneof(fc.bigInt({ min: 10n, max: 300n }), fc.bigInt({ min: 10n, max: 1_500n }))
/** Part of what is left: often all of it, seldom more. */
const percent = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.constantFrom(50, 60, 100, 100, 101))

/** The choices of a kind. */
type Of<Kind extends Choice['kind']> = Choice & { readonly kind: Kind }

function chosen<Kind extends Choice['kind']>(
  kind: Kind,
  others: { [Name in Exclude<keyof Of<Kind>, 'kind'>]: fc.Arbitrary<Of<Kind>[Name]> }
): fc.Arbitrary<Choice> {
  // The names are those of the kind.
  return fc.record({ kind: fc.constant(kind), ...others }) as unknown as fc.Arbitrary<Choice>
}

const freezable: fc.Arbitrary<Freezable> = fc.oneof(
  {
    arbitrary: fc.record({ what: fc.constantFrom('account' as const, 'wallet address' as const), owner }),
    weight: 5
  },
  { arbitrary: fc.constant('client' as const), weight: 1 }
)

const rule: fc.Arbitrary<ModelRule> = fc.oneof(
  fc.record({ owner, above: fc.constantFrom(0n, 50n, 200n) }),
  fc.record({ owner, firstPayee: fc.constant(true as const) }),
  fc.constant('all of the client' as const)
)

const pay = chosen('pay', { owner, to: which, debit: value })
const payBack = chosen('pay back', { of: which, to: which, percent })
const receive = chosen('receive', {
  owner,
  incoming: fc.option(fc.bigInt({ min: 50n, max: 600n }), { nil: undefined, freq: 3 }),
  lifetimeSeconds: fc.oneof(fc.integer({ min: 60, max: 1_200 }), fc.constantFrom(7_200, 86_400))
})
const complete = chosen('complete', { of: which })
const approve = chosen('approve', { of: which })
const decline = chosen('decline', { of: which })
const refund = chosen('refund', { of: which, percent, returnsFee: fc.boolean() })
const refundAgain = chosen('refund again', { of: which, more: fc.constantFrom(0n, 0n, 1n) })
const withdraw = chosen('withdraw', { owner, value })
/** Seldom frozen for long, so that most can be done. Orders are repeated too. */
const freeze = chosen('freeze', { of: freezable, freezes: fc.constantFrom(true, false, false, false) })
const advance = chosen('advance', {
  seconds: fc.oneof(
    { arbitrary: fc.integer({ min: 1, max: 120 }), weight: 2 },
    { arbitrary: fc.constantFrom(APPROVAL_TIMEOUT_SECONDS, BEGIN_WITHIN_SECONDS, 61, 1_300), weight: 1 }
  )
})

const manner: fc.Arbitrary<Manner> = fc.record({
  splits: fc.boolean(),
  then: fc.constantFrom(
    ...(['takes', 'takes', 'takes', 'closes', 'rejects'] as const),
    ...(['loses answers', 'loses answers', 'loses packets', 'loses packets', 'is down'] as const)
  )
})
const who = fc.constantFrom('they', 'we')
const payElsewhere = chosen('pay elsewhere', { owner, debit: value })
const packet = chosen('packet', {
  to: which,
  value: fc.oneof(
    { arbitrary: fc.bigInt({ min: 1n, max: 300n }), weight: 5 },
    { arbitrary: fc.bigInt({ min: 1n, max: 1_200n }), weight: 1 }
  )
})
const packetAgain = chosen('packet again', { of: which })
const decidePacket = chosen('decide packet', { of: which })
const bound = chosen('bound', {
  who,
  room: fc.option(fc.oneof(fc.bigInt({ min: 0n, max: 250n }), fc.bigInt({ min: 0n, max: 1_000n })), {
    nil: undefined,
    freq: 4
  })
})

const choice: fc.Arbitrary<Choice> = fc.oneof(
  { arbitrary: pay, weight: 22 },
  { arbitrary: payBack, weight: 7 },
  { arbitrary: receive, weight: 7 },
  { arbitrary: complete, weight: 3 },
  { arbitrary: approve, weight: 10 },
  { arbitrary: decline, weight: 3 },
  { arbitrary: refund, weight: 8 },
  { arbitrary: refundAgain, weight: 3 },
  { arbitrary: freeze, weight: 9 },
  { arbitrary: advance, weight: 6 },
  { arbitrary: chosen('repeat', { of: which }), weight: 3 },
  { arbitrary: chosen('rule', { rule }), weight: 7 },
  { arbitrary: chosen('unrule', { of: which }), weight: 2 },
  { arbitrary: chosen('deposit', { owner, value }), weight: 2 },
  { arbitrary: withdraw, weight: 2 },
  { arbitrary: payElsewhere, weight: 14 },
  { arbitrary: packet, weight: 11 },
  { arbitrary: packetAgain, weight: 3 },
  { arbitrary: decidePacket, weight: 20 },
  { arbitrary: chosen('manner', { manner }), weight: 14 },
  { arbitrary: bound, weight: 5 },
  { arbitrary: chosen('settle', { who, percent }), weight: 4 }
)

const newest: fc.Arbitrary<Pick> = fc.constant(0)
const ofNewest = {
  decisions: fc.oneof(
    chosen('approve', { of: newest }),
    chosen('decline', { of: newest }),
    chosen('advance', { seconds: fc.constantFrom(APPROVAL_TIMEOUT_SECONDS, BEGIN_WITHIN_SECONDS) }),
    freeze
  ),
  refunds: fc.oneof(
    chosen('refund', { of: newest, percent, returnsFee: fc.boolean() }),
    chosen('refund again', { of: newest, more: fc.constantFrom(0n, 0n, 1n) }),
    chosen('pay back', { of: newest, to: which, percent })
  )
}

/**
 * A rule about first payees reads what was paid so far, and a client's freeze is waited for by what it changes: both come alone. So does what
 * changes how the peer treats packets, which may be under way.
 */
function canBeTogether(one: Choice): boolean {
  const isAlone = one.kind === 'rule' || one.kind === 'unrule' || one.kind === 'manner'
  return !isAlone && !(one.kind === 'freeze' && one.of === 'client')
}

const lateMs = fc.integer({ min: 0, max: LATE_MAX_MS })

/** Two or three at once: decisions about one payment, refunds of one, freezes beside payments, or anything. */
const together: fc.Arbitrary<ChoicesTogether> = fc.oneof(
  ...[
    ofNewest.decisions,
    ofNewest.refunds,
    fc.oneof(freeze, pay, payBack, payElsewhere),
    fc.oneof(packet, packetAgain, pay, complete, freeze),
    fc.oneof(payElsewhere, bound, decidePacket, packet),
    fc.oneof(pay, approve, complete, withdraw),
    choice
  ].map((of) =>
    fc.array(fc.record({ choice: of.filter(canBeTogether), lateMs }), { minLength: 2, maxLength: 3 })
  )
)

/** A command that fast-check prints as its choice when it reports a failure. */
const doOne = (one: Choice): MoneyCommand => ({
  check: (world) => (world as MoneyWorld).canDo(one),
  run: (world) => world.do(one),
  toString: () => fc.stringify(one)
})

const doTogether = (choices: ChoicesTogether): MoneyCommand => ({
  check: (world) => choices.every(({ choice: one }) => (world as MoneyWorld).canDo(one)),
  run: (world) => world.doTogether(choices),
  toString: () => `together ${fc.stringify(choices)}`
})

/**
 * Sequences of operations.
 *
 * @param replayPath the commands that were run, as fast-check reported them
 */
export function moneyCommands(replayPath?: string): fc.Arbitrary<Iterable<MoneyCommand>> {
  const weighted = fc.oneof(
    { arbitrary: choice.map(doOne), weight: 6 },
    { arbitrary: together.map(doTogether), weight: 1 }
  )
  return fc.commands([weighted], {
    maxCommands: COMMANDS_MAX,
    size: 'max',
    ...(replayPath && { replayPath })
  })
}
