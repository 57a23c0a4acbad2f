import { describe, expect, it } from '@jest/globals'
import { Succession } from './succession.js'

/** The state of a primary. */
function primary(system: string, timeline: string) {
  return { isPrimary: true, waitsForStandby: true, system, timeline }
}

class Connection {
  readonly errors: Error[] = []

  giveUp(error: Error): void {
    this.errors.push(error)
  }
}

const SUPERSEDED = { name: 'UnfitServer', code: '25006' }

describe('succession', () => {
  it('gives up the connections to a former primary, and those alone', () => {
    const succession = new Succession()
    const [former, ended, elsewhere, current] = Array.from({ length: 4 }, () => new Connection()) as [
      Connection,
      Connection,
      Connection,
      Connection
    ]
    succession.add(elsewhere, primary('6', '00000001'))
    succession.add(former, primary('7', '00000001'))
    succession.add(ended, primary('7', '00000001'))
    succession.remove(ended)
    succession.add(current, primary('7', '00000002'))
    expect(former.errors).toMatchObject([SUPERSEDED])
    for (const { errors } of [ended, elsewhere, current]) expect(errors).toEqual([])
  })

  it('refuses a former primary that comes back', () => {
    const succession = new Succession()
    succession.add(new Connection(), primary('7', '00000009'))
    succession.add(new Connection(), primary('7', '0000000A'))
    expect(() => {
      succession.add(new Connection(), primary('7', '00000009'))
    }).toThrow(expect.objectContaining(SUPERSEDED))
    succession.add(new Connection(), primary('7', '0000000A'))
  })

  it('takes a database that was moved into another system', () => {
    const succession = new Succession()
    succession.add(new Connection(), primary('7', '00000005'))
    succession.add(new Connection(), primary('8', '00000001'))
  })
})
