import { createLogger } from '@open-payments-server/runtime'
import { expect, it } from '@jest/globals'
import type { LeasedSending } from '../modules/outgoing-payments/index.js'
import { AT_A_TIME_MAX, createSendingWorker, DUE_AT_A_TIME_MAX, NEW_AT_A_TIME_MAX } from './sending-worker.js'

const leased = (paymentId: string, isNew: boolean): LeasedSending => ({
  paymentId,
  walletAddressId: 'payer',
  isNew,
  leaseId: 'lease',
  leasedUntilMs: 0,
  receiver: 'https://elsewhere.example/incoming-payments/1',
  receiveAsset: { code: 'USD', scale: 2 },
  receiveValue: 1n,
  sending: { peerId: 'peer', sendMaxValue: 1n, fixedFeeValue: 0n },
  sendUntilMs: Infinity,
  attempts: isNew ? 0 : 1,
  isHeld: false,
  isCovered: true,
  isDoubted: false
})

it('new payments are sent though any number of others is tried again and never answered', async () => {
  let isNewWaiting = false
  const rooms: number[] = []
  let sent: () => void = () => undefined
  const newSent = new Promise<void>((resolve) => {
    sent = resolve
  })
  let taken = 0
  const worker = createSendingWorker({
    beginSending(limit) {
      rooms.push(limit)
      const found = isNewWaiting ? [leased('new', true)] : []
      isNewWaiting = false
      return Promise.resolve({ leased: found, due: 0, ended: 0, isMore: false })
    },
    sentPayments: {
      take(limit) {
        taken += limit
        const due = Array.from({ length: limit }, (_, index) => leased(String(index), false))
        return Promise.resolve({ found: limit, leased: due })
      },
      findHeld: () => Promise.resolve([]),
      attempt({ paymentId }, signal) {
        if (paymentId === 'new') sent()
        return new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            resolve(false)
          })
        })
      }
    },
    pollSeconds: 60,
    logger: createLogger({ service: 'test', level: 'silent' }),
    onPaymentsEnded: () => undefined
  })
  while (taken < DUE_AT_A_TIME_MAX) await new Promise(setImmediate)
  isNewWaiting = true
  worker.wake()
  await newSent
  await worker.stop()
  expect(taken).toBe(DUE_AT_A_TIME_MAX)
  expect(rooms[0]).toBe(NEW_AT_A_TIME_MAX)
  expect(rooms.at(-1)).toBe(AT_A_TIME_MAX - DUE_AT_A_TIME_MAX)
})

it('tells how many payments it sends to each peer, and for whom, and how many more to any', async () => {
  const told: unknown[] = []
  let isFirst = true
  const worker = createSendingWorker({
    beginSending(_limit, room) {
      told.push(room)
      const found = isFirst ? [leased('first', true), leased('second', true)] : []
      isFirst = false
      return Promise.resolve({ leased: found, due: 0, ended: 0, isMore: false })
    },
    sentPayments: {
      take(_limit, _running, room) {
        told.push(room)
        return Promise.resolve({ found: 0, leased: [] })
      },
      findHeld: () => Promise.resolve([]),
      attempt: (_payment, signal) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            resolve(false)
          })
        })
    },
    pollSeconds: 60,
    logger: createLogger({ service: 'test', level: 'silent' }),
    onPaymentsEnded: () => undefined
  })
  while (told.length < 2) await new Promise(setImmediate)
  await worker.stop()
  expect(told).toEqual([
    { free: AT_A_TIME_MAX, sentTo: new Map(), sentFrom: new Map() },
    { free: AT_A_TIME_MAX - 2, sentTo: new Map([['peer', 2]]), sentFrom: new Map([['peer payer', 2]]) }
  ])
})
