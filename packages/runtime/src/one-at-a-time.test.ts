import { describe, expect, it } from '@jest/globals'
import { oneAtATime } from './one-at-a-time.js'

/** Work that ends when it is told to. */
function startWork() {
  const begun: string[] = []
  const ends = new Map<string, { resolve: (answer: string) => void; reject: (error: Error) => void }>()
  const ask = oneAtATime((question: string) => {
    begun.push(question)
    return new Promise<string>((resolve, reject) => ends.set(question, { resolve, reject }))
  })
  const settled = () => new Promise(setImmediate)
  const end = async (question: string): Promise<void> => {
    await settled()
    ends.get(question)?.resolve(`answer to ${question}`)
    await settled()
  }
  const fail = async (question: string): Promise<void> => {
    await settled()
    ends.get(question)?.reject(new Error(`no answer to ${question}`))
    await settled()
  }
  return { ask, begun, end, fail, settled }
}

const waiting = new AbortController().signal

describe('work that is done once at a time', () => {
  it('answers everybody who asks the same meanwhile, and is done anew for whoever asks afterwards', async () => {
    const { ask, begun, end } = startWork()
    const answers = [ask('a', waiting), ask('a', waiting)]
    await end('a')
    expect(await Promise.all(answers)).toEqual(['answer to a', 'answer to a'])
    expect(begun).toEqual(['a'])
    const later = ask('a', waiting)
    await end('a')
    expect(await later).toBe('answer to a')
    expect(begun).toEqual(['a', 'a'])
  })

  it('lets another question wait for its turn, also after a failure', async () => {
    const { ask, begun, end, fail, settled } = startWork()
    const failing = expect(ask('a', waiting)).rejects.toThrow('no answer to a')
    const other = ask('b', waiting)
    await settled()
    expect(begun).toEqual(['a'])
    await fail('a')
    await failing
    expect(begun).toEqual(['a', 'b'])
    await end('b')
    expect(await other).toBe('answer to b')
  })

  it('drops a question for which nobody waits any more, and no other', async () => {
    const { ask, begun, end, settled } = startWork()
    const [leaving, staying] = [new AbortController(), new AbortController()]
    const first = ask('a', waiting)
    const dropped = expect(ask('b', leaving.signal)).rejects.toThrow('gone')
    const kept = [ask('c', leaving.signal), ask('c', staying.signal)]
    leaving.abort(new Error('gone'))
    await end('a')
    await first
    await dropped
    await settled()
    expect(begun).toEqual(['a', 'c'])
    await end('c')
    expect(await Promise.all(kept)).toEqual(['answer to c', 'answer to c'])
    await expect(ask('d', leaving.signal)).rejects.toThrow('gone')
    expect(begun).toEqual(['a', 'c'])
  })
})
