import { describe, expect, it } from '@jest/globals'
import {
  Admission,
  REQUESTS_AT_A_TIME_MAX,
  REQUESTS_TO_KNOWN_HOST_MAX,
  REQUESTS_TO_OTHERS_MAX,
  REQUESTS_TO_STRANGER_MAX,
  REQUESTS_TO_STRANGERS_MAX
} from './admission.js'
import { OutgoingRequestError } from './errors.js'

const KNOWN = 'https://known.example'
const OWN = 'https://wallet.example'

/** Takes the free places of an origin, up to a number. Returns the functions that give them back. */
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

/** Takes every place there is for hosts of one kind. */
function fillWith(admission: Admission, kind: string, prepare?: (origin: string) => void): number {
  let taken = 0
  for (let host = 0; ; host += 1) {
    const origin = `https://${kind}-${String(host)}.example`
    prepare?.(origin)
    const { length } = fill(admission, origin)
    if (length === 0) return taken
    taken += length
  }
}

/** An admission that remembers the known origin as vouched for. */
function acquainted(): Admission {
  const admission = new Admission([OWN])
  admission.vouchFor(KNOWN)
  return admission
}

describe('the places for requests', () => {
  it('are few for a host until it is vouched for', () => {
    const admission = new Admission()
    for (const leave of fill(admission, KNOWN)) leave('answered')
    const places = fill(admission, KNOWN)
    expect(places).toHaveLength(REQUESTS_TO_STRANGER_MAX)
    for (const leave of places) leave('answered')
    admission.vouchFor(KNOWN)
    expect(fill(admission, KNOWN)).toHaveLength(REQUESTS_TO_KNOWN_HOST_MAX)
  })

  it('are partly reserved for vouched-for hosts, however many strangers there are', () => {
    const admission = acquainted()
    for (let host = 0; host < 2_000; host += 1) {
      admission.enter(`https://answers-${String(host)}.example`)('answered')
    }
    expect(fillWith(admission, 'stranger')).toBe(REQUESTS_TO_STRANGERS_MAX)
    expect(fill(admission, KNOWN)).toHaveLength(REQUESTS_TO_OTHERS_MAX - REQUESTS_TO_STRANGERS_MAX)
  })

  it('are partly reserved for our own hosts', () => {
    const admission = acquainted()
    const vouchFor = (origin: string): void => {
      admission.vouchFor(origin)
    }
    expect(fillWith(admission, 'vouched-for', vouchFor)).toBe(REQUESTS_TO_OTHERS_MAX)
    expect(fill(admission, KNOWN)).toHaveLength(0)
    const places = fill(admission, OWN)
    expect(places).toHaveLength(REQUESTS_AT_A_TIME_MAX - REQUESTS_TO_OTHERS_MAX)
    for (const leave of places) leave('not answered')
    expect(fill(admission, OWN)).toHaveLength(places.length)
  })

  it('are reduced for a host that stops answering, but not for a cancelled request', () => {
    const admission = acquainted()
    for (const leave of fill(admission, KNOWN, 1)) leave('given up')
    const places = fill(admission, KNOWN)
    expect(places).toHaveLength(REQUESTS_TO_KNOWN_HOST_MAX)
    for (const leave of places) leave('not answered')
    expect(fill(admission, KNOWN)).toHaveLength(REQUESTS_TO_STRANGER_MAX)
  })

  it('are bounded in all, also for our own hosts', () => {
    const hosts = Array.from({ length: 20 }, (_, host) => `https://own-${String(host)}.example`)
    const admission = new Admission(hosts)
    const taken = hosts.flatMap((host) => fill(admission, host))
    expect(taken).toHaveLength(REQUESTS_AT_A_TIME_MAX)
    taken[0]?.('answered')
    expect(fill(admission, KNOWN, 1)).toHaveLength(1)
    expect(fill(admission, KNOWN, 1)).toHaveLength(0)
  })
})
