import { type RandomSequence, randomSequence, wholeNumber } from '@open-payments-server/testing'
import fc from 'fast-check'
import { streamPlaintexts } from './generators/packets.js'
import { openFrames } from './targets/packets.js'

/** Cases that are made of one that is drawn, which takes longer than opening it. */
const VARIANTS = 10
/** Cases of one seed. */
const SEED_CASES = 2_000
/** The most places at which a packet is changed. */
const CHANGES_MAX = 3
/** What is put in: lengths, ends of lists, and amounts that nobody has. */
const PIECES = ['', '00', '7f', '80', '81ff', '82ffff', '84ffffffff', '88ffffffffffffffff', 'ff'].map((hex) =>
  Buffer.from(hex, 'hex')
)

const plaintexts = fc
  .constantFrom('prepare' as const, 'fulfill' as const, 'reject' as const)
  .chain(streamPlaintexts)

/**
 * Opens packets of STREAM whose frames are random and then changed.
 *
 * @returns how many there were of each result
 * @throws Error with the plaintext in hexadecimal of the first that is not read as it must be
 */
export function openManyFrames(count: number, seed: number): ReadonlyMap<string, number> {
  const results = new Map<string, number>()
  for (let first = 0; first < count; first += SEED_CASES) {
    const random = randomSequence(seed + first)
    const cases = Math.min(SEED_CASES, count - first)
    const drawn = fc.sample(plaintexts, { seed: seed + first, numRuns: Math.ceil(cases / VARIANTS) })
    for (let index = 0; index < cases; index += 1) {
      const original = drawn[Math.floor(index / VARIANTS)] as Buffer // there are as many
      const plaintext = changed(original, random)
      const result = attempt(plaintext, first + index)
      results.set(result, (results.get(result) ?? 0) + 1)
    }
  }
  return results
}

function attempt(plaintext: Buffer, seed: number): string {
  try {
    return openFrames({ plaintext, seed })
  } catch (cause) {
    throw new Error(`the frames ${plaintext.toString('hex')} are not read as they must be`, { cause })
  }
}

/** A packet with up to three pieces changed, cut out or put in. */
function changed(original: Buffer, random: RandomSequence): Buffer {
  let bytes = original
  for (let left = wholeNumber(random, 0, CHANGES_MAX); left > 0; left -= 1) {
    const at = wholeNumber(random, 0, bytes.length)
    const piece = PIECES[wholeNumber(random, 0, PIECES.length)] ?? Buffer.of(wholeNumber(random, 0, 255))
    const removed = wholeNumber(random, 0, 2)
    bytes = Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at + removed)])
  }
  return bytes
}
