import fc from 'fast-check'
import {
  type ArrivalChoice,
  arrivals,
  type Beginning,
  boundaries,
  type BoundaryChoice,
  call,
  callsTogether,
  freezes,
  grant,
  type ItemChoice,
  jumps,
  makeItem,
  repetition
} from './limits-choices.js'
import type { CallChoice, LimitsWorld } from './limits-world.js'
import { boundaryAfter } from './model-interval.js'

/** The commands that fast-check combines. The world is both its model and its real system: each command acts on both. */
type LimitsCommand = fc.AsyncCommand<LimitsWorld, LimitsWorld>

const GRANTS_MAX = 4
const COMMANDS_MAX = 120

/** A command that fast-check prints as its choice when it reports a failure. */
function command<Choice>(
  name: string,
  run: (choice: Choice, world: LimitsWorld) => Promise<void> | void,
  isPossible: (choice: Choice, world: LimitsWorld) => boolean = () => true
): (choice: Choice) => LimitsCommand {
  return (choice) => ({
    // Checks do not change the world, although its type would allow it.
    check: (world) => isPossible(choice, world as LimitsWorld),
    run: async (world) => run(choice, world),
    toString: () => `${name} ${fc.stringify(choice)}`
  })
}

const addGrant = command<readonly ItemChoice[]>(
  'grant',
  (items, world) => world.addGrant(items.map((one) => makeItem(one, world.nowMs))),
  (_, world) => world.grants.length < GRANTS_MAX
)

const makeCall = command<CallChoice>('call', (choice, world) => world.call(choice))

const repeatCall = command<CallChoice>(
  'again',
  (choice, world) => world.call(choice),
  (_, world) => world.hasSentCalls
)

const makeCallsTogether = command<readonly CallChoice[]>('together', (choices, world) =>
  world.callTogether(choices)
)

const sendCall = command<CallChoice>('send', (choice, world) => world.send(choice))

const letArrive = command<ArrivalChoice>(
  'arrive',
  async (choice, world) => {
    if (choice.lateMs > 0) await world.setClock(world.nowMs + choice.lateMs, 'clock jump')
    await world.arrive(choice.which)
  },
  (_, world) => world.hasCallsUnderWay
)

const goToNextInterval = command<BoundaryChoice>(
  'next interval',
  (choice, world) => world.setClock((nextBoundary(choice, world) ?? 0) + choice.offsetMs, 'next interval'),
  (choice, world) => nextBoundary(choice, world) !== undefined
)

const jump = command<number>('jump', (jumpMs, world) => world.setClock(world.nowMs + jumpMs, 'clock jump'))

const freeze = command<boolean>('freeze', (freezes, world) => world.freeze(freezes))

/** The next boundary of an item's intervals, in milliseconds since 1970; undefined when there is none. */
function nextBoundary(choice: BoundaryChoice, world: LimitsWorld): number | undefined {
  const items = world.grants[choice.grant % world.grants.length] ?? []
  const chosen = items[choice.item % items.length]?.interval
  return chosen && boundaryAfter(chosen, world.nowMs)
}

/**
 * Sequences of operations.
 *
 * @param replayPath the commands that were run, as fast-check reported them
 */
export function limitCommands(replayPath?: string): fc.Arbitrary<Iterable<LimitsCommand>> {
  const weighted = fc.oneof(
    { arbitrary: call.map(makeCall), weight: 22 },
    { arbitrary: repetition.map(repeatCall), weight: 5 },
    { arbitrary: callsTogether.map(makeCallsTogether), weight: 4 },
    { arbitrary: fc.oneof(call, repetition).map(sendCall), weight: 3 },
    { arbitrary: arrivals.map(letArrive), weight: 3 },
    { arbitrary: boundaries.map(goToNextInterval), weight: 5 },
    { arbitrary: jumps.map(jump), weight: 3 },
    { arbitrary: freezes.map(freeze), weight: 3 },
    { arbitrary: grant.map(addGrant), weight: 2 }
  )
  return fc.commands([weighted], {
    maxCommands: COMMANDS_MAX,
    size: 'max',
    ...(replayPath && { replayPath })
  })
}

/** Starts a sequence with its first grant. */
export async function begin({ startMs, grant: items }: Beginning, world: LimitsWorld): Promise<void> {
  await world.addGrant(items.map((one) => makeItem(one, startMs)))
}
