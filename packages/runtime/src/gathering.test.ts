import { describe, expect, it } from '@jest/globals'
import { context, createContextKey, ROOT_CONTEXT } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { fulfilled, gather, type ItemResult, rejected } from './index.js'
import type { GatheringOptions } from './gathering.js'

/** A batch that runs until the test says what it came to. */
interface RunningBatch {
  readonly items: readonly number[]
  answer(results: readonly ItemResult<string>[]): void
  fail(error: unknown): void
}

function gathering(options: Omit<GatheringOptions<number, string>, 'runBatch'>) {
  const batches: RunningBatch[] = []
  const one = gather<number, string>({
    ...options,
    runBatch: (items) =>
      new Promise((answer, fail) => {
        batches.push({ items, answer, fail })
      })
  })
  const items = () => batches.map((batch) => batch.items)
  const batch = (index: number): RunningBatch => {
    const found = batches[index]
    if (found === undefined) throw new Error(`batch ${index} was not started`)
    return found
  }
  return { one, items, batch }
}

const named = (items: readonly number[]) => items.map((item) => fulfilled(`item ${item}`))

/** The rest of the event loop's turn. */
const turn = () => new Promise(setImmediate)

describe('gathering', () => {
  it('batches all items of one event loop turn', async () => {
    const { one, items, batch } = gathering({ itemsMax: 10 })
    const first = [one(1), Promise.resolve().then(() => one(2))]
    expect(items()).toEqual([])
    await turn()
    expect(items()).toEqual([[1, 2]])
    batch(0).answer(named([1, 2]))
    // Whoever is answered asks again in the same turn.
    const again = first.map(async (answered) => {
      await answered
      return one(3)
    })
    await Promise.all(first)
    await turn()
    expect(items()).toEqual([
      [1, 2],
      [3, 3]
    ])
    batch(1).answer(named([3, 3]))
    await expect(Promise.all(again)).resolves.toEqual(['item 3', 'item 3'])
  })

  it('batches those that arrive while a batch is running, in order', async () => {
    const { one, items, batch } = gathering({ itemsMax: 10 })
    const first = one(1)
    await turn()
    const others = [one(2), one(3), one(4)]
    await turn()
    expect(items()).toEqual([[1]])
    batch(0).answer(named([1]))
    await expect(first).resolves.toBe('item 1')
    await turn()
    expect(items()).toEqual([[1], [2, 3, 4]])
    batch(1).answer(named([2, 3, 4]))
    await expect(Promise.all(others)).resolves.toEqual(['item 2', 'item 3', 'item 4'])
    void one(5)
    await turn()
    expect(items()).toHaveLength(3)
  })

  it('limits the size of batches, and runs one at a time', async () => {
    const { one, items, batch } = gathering({ itemsMax: 2 })
    const all = [1, 2, 3].map((item) => one(item))
    await turn()
    expect(items()).toEqual([[1, 2]])
    batch(0).answer(named([1, 2]))
    await all[0]
    await turn()
    expect(items()).toEqual([[1, 2], [3]])
    batch(1).answer(named([3]))
    await expect(Promise.all(all)).resolves.toEqual(['item 1', 'item 2', 'item 3'])
  })

  it('starts keys anew after a batch that failed', async () => {
    const { one, items, batch } = gathering({ itemsMax: 10, keyOf: String })
    const first = one(1)
    await turn()
    batch(0).fail(new Error('away'))
    await expect(first).rejects.toThrow('away')
    void one(1)
    await turn()
    expect(items()).toEqual([[1], [1]])
  })

  it('does not let a slow batch delay others, except for its own keys', async () => {
    const batches: number[][] = []
    const begun: (() => void)[] = []
    const one = gather<number, string>({
      itemsMax: 10,
      patienceMs: 1,
      keyOf: (item) => String(item % 10),
      runBatch: (items) =>
        new Promise((resolve) => {
          batches.push([...items])
          begun.shift()?.()
          if (items.includes(3)) resolve(named(items))
        })
    })
    const second = new Promise<void>((resolve) => begun.push(() => undefined, resolve))
    void one(1)
    await turn()
    for (const item of [11, 2]) void one(item)
    await second
    expect(batches).toEqual([[1], [2]])
    await expect(one(3)).resolves.toBe('item 3')
    await expect(one(3)).resolves.toBe('item 3')
    expect(batches).toEqual([[1], [2], [3], [3]])
  })

  it('goes on with a key once, when its slow batch ends', async () => {
    const { one, items, batch } = gathering({
      itemsMax: 10,
      patienceMs: 1,
      keyOf: (item) => String(item % 10)
    })
    const slow = one(1)
    await turn()
    const held = one(11)
    const other = one(2)
    while (items().length < 2) await turn()
    expect(items()).toEqual([[1], [2]])
    batch(1).answer(named([2]))
    await expect(other).resolves.toBe('item 2')
    await turn()
    expect(items()).toEqual([[1], [2]])
    batch(0).answer(named([1]))
    await expect(slow).resolves.toBe('item 1')
    await turn()
    expect(items()).toEqual([[1], [2], [11]])
    batch(2).answer(named([11]))
    await expect(held).resolves.toBe('item 11')
    await turn()
    expect(items()).toHaveLength(3)
  })

  it('fails an item alone with its own error', async () => {
    const { one, batch } = gathering({ itemsMax: 10 })
    const all = [one(1), one(2), one(3)]
    await turn()
    batch(0).answer([...named([1]), rejected(new Error('no room')), ...named([3])])
    await expect(Promise.allSettled(all)).resolves.toEqual([
      { status: 'fulfilled', value: 'item 1' },
      { status: 'rejected', reason: new Error('no room') },
      { status: 'fulfilled', value: 'item 3' }
    ])
  })

  it('fails all items of a failed batch, and continues with those waiting', async () => {
    const { one, batch } = gathering({ itemsMax: 2 })
    const results = Promise.allSettled([one(1), one(2), one(3)])
    await turn()
    batch(0).fail(new Error('away'))
    await turn()
    await turn()
    batch(1).answer(named([3]))
    expect(
      (await results).map((result) => (result.status === 'rejected' ? result.reason : result.value))
    ).toEqual([new Error('away'), new Error('away'), 'item 3'])
  })

  it('settles every item when a batch throws synchronously or omits a result', async () => {
    const throwing = gather<number, string>({
      itemsMax: 1,
      runBatch: () => {
        throw new Error('never begun')
      }
    })
    await expect(throwing(1)).rejects.toThrow('never begun')
    await expect(throwing(2)).rejects.toThrow('never begun')
    const forgetful = gather<number, string>({ itemsMax: 1, runBatch: () => Promise.resolve([]) })
    await expect(forgetful(1)).rejects.toThrow('did not say what became of one of its items')
  })

  it('resumes in the context of each caller, and runs a batch in that of its first item', async () => {
    const manager = new AsyncLocalStorageContextManager().enable()
    context.setGlobalContextManager(manager)
    try {
      const key = createContextKey('caller')
      const caller = () => context.active().getValue(key)
      const ranIn: unknown[] = []
      const one = gather<number, number>({
        itemsMax: 10,
        runBatch: async (items) => {
          await Promise.resolve()
          ranIn.push(caller())
          return items.map((item) => fulfilled(item))
        }
      })
      const call = (name: string) =>
        context.with(ROOT_CONTEXT.setValue(key, name), async () => {
          await one(1)
          return caller()
        })
      await expect(Promise.all([call('a'), call('b'), call('c')])).resolves.toEqual(['a', 'b', 'c'])
      expect(ranIn).toEqual(['a'])
    } finally {
      context.disable()
    }
  })
})
