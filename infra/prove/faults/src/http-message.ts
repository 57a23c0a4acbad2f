import { type RandomSequence, wholeNumber } from '@open-payments-server/testing'

const HEAD_END = '\r\n\r\n'
const LINE_END = '\r\n'
const CONTENT_LENGTH = /^content-length: *(\d+)$/im

/** A message of HTTP/1.1, as far as it has come. */
export interface HttpMessage {
  /** Its first line and its fields, as they came. */
  readonly head: string
  /** Where its body begins; its length where it ends within its head. */
  readonly bodyBegin: number
  /** Whether all of it is there. A body without a length counts as none. */
  readonly isWhole: boolean
}

/** Reads a message of HTTP/1.1, as far as it has come. */
export function readMessage(bytes: Buffer): HttpMessage {
  const headEnd = bytes.indexOf(HEAD_END)
  if (headEnd < 0) return { head: bytes.toString('latin1'), bodyBegin: bytes.length, isWhole: false }
  const head = bytes.subarray(0, headEnd).toString('latin1')
  const bodyBegin = headEnd + HEAD_END.length
  const bodyLength = Number(CONTENT_LENGTH.exec(head)?.[1] ?? 0)
  return { head, bodyBegin, isWhole: bytes.length >= bodyBegin + bodyLength }
}

/**
 * Takes the end of a message's body away, so that it seems to be whole.
 *
 * @returns undefined where the body has no end that could be missing
 */
export function truncateBody(message: Buffer, random: RandomSequence): Buffer | undefined {
  const { head, bodyBegin } = readMessage(message)
  const bodyLength = message.length - bodyBegin
  if (bodyLength < 2) return undefined
  const left = wholeNumber(random, 1, bodyLength - 1)
  const changed = head.replace(CONTENT_LENGTH, `content-length: ${String(left)}`)
  return Buffer.concat([
    Buffer.from(changed + HEAD_END, 'latin1'),
    message.subarray(bodyBegin, bodyBegin + left)
  ])
}

/** Distance of the places in a body at which it is broken off, in bytes. */
const BODY_STEP = 3

/** Places to break a message off at: before it, after each line of its head, throughout its body, and after all of it. */
export function breaksOf(message: Buffer): readonly number[] {
  const { head, bodyBegin } = readMessage(message)
  const places = [0, ...[...head.matchAll(/\r\n/g)].map(({ index }) => index + LINE_END.length)]
  for (let place = bodyBegin; place < message.length; place += BODY_STEP) places.push(place)
  return [...places, message.length]
}
