import { describe, expect, it } from '@jest/globals'
import {
  Admission,
  REQUESTS_AT_A_TIME_MAX,
  REQUESTS_TO_ACQUAINTANCE_MAX,
  REQUESTS_TO_STRANGER_MAX,
  REQUESTS_TO_STRANGERS_MAX
} from './admission.js'
import { OutgoingRequestError } from './errors.js'

const KNOWN = 'https://known.example'

/** Takes as many places as there are for an origin, at most a number; answers how to give them back. */
function fill(admission: Admission, origin: string, most = Infinity): ReturnType<Admission['enter']>[] {
  const places: ReturnType<Admission['enter']>[] = []
  while (places.length < most) {
    try {
      places.push(admission.enter(origin))
    } catch (error) {
      expect(error).toBeInstanceOf(OutgoingRequestError)
      expect(error).toMatchObject({ reason: 'busy' })
      break
    }
  }
  return places
}

/** Takes every place there is for hosts that never answered. */
function fillWithStrangers(admission: Admission): number {
  let taken = 0
  for (let host = 0; ; host += 1) {
    const { length } = fill(admission, `https://stranger-${String(host)}.example`)
    if (length === 0) return taken
    taken += length
  }
}

/** An admission that remembers a good answer of the known origin. */
function acquainted(): Admission {
  const admission = new Admission()
  admission.enter(KNOWN)('answered')
  return admission
}

describe('the places for requests', () => {
  it('are few for one host that has not answered yet, and more once it has', () => {
    const admission = new Admission()
    const places = fill(admission, KNOWN)
    expect(places).toHaveLength(REQUESTS_TO_STRANGER_MAX)
    for (const leave of places) leave('answered')
    expect(fill(admission, KNOWN)).toHaveLength(REQUESTS_TO_ACQUAINTANCE_MAX)
  })

  it('are kept in part for hosts that answered well: any number of slow strangers leave room for them', () => {
    const admission = acquainted()
    expect(fillWithStrangers(admission)).toBe(REQUESTS_TO_STRANGERS_MAX)
    expect(fill(admission, KNOWN)).toHaveLength(REQUESTS_TO_ACQUAINTANCE_MAX)
  })

  it('are few again for a host that no longer answers, and stay more for one whose request was given up', () => {
    const admission = acquainted()
    for (const leave of fill(admission, KNOWN, 1)) leave('given up')
    const places = fill(admission, KNOWN)
    expect(places).toHaveLength(REQUESTS_TO_ACQUAINTANCE_MAX)
    for (const leave of places) leave('not answered')
    expect(fill(admission, KNOWN)).toHaveLength(REQUESTS_TO_STRANGER_MAX)
  })

  it('are bounded in all, also for hosts that answered well', () => {
    const admission = new Admission()
    const hosts = Array.from({ length: 20 }, (_, host) => `https://known-${String(host)}.example`)
    for (const host of hosts) admission.enter(host)('answered')
    const taken = hosts.flatMap((host) => fill(admission, host))
    expect(taken).toHaveLength(REQUESTS_AT_A_TIME_MAX)
    taken[0]?.('answered')
    expect(fill(admission, KNOWN, 1)).toHaveLength(1)
    expect(fill(admission, KNOWN, 1)).toHaveLength(0)
  })
})
