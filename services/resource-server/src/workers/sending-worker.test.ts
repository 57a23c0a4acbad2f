import { createLogger } from '@open-payments-server/runtime'
import { expect, it } from '@jest/globals'
import type { LeasedSending } from '../modules/outgoing-payments/index.js'
import { AT_A_TIME_MAX, createSendingWorker, DUE_AT_A_TIME_MAX, NEW_AT_A_TIME_MAX } from './sending-worker.js'

const leased = (paymentId: string, isNew: boolean): LeasedSending => ({
  paymentId,
  isNew,
  leaseId: 'lease',
  receiver: 'https://elsewhere.example/incoming-payments/1',
  receiveAsset: { code: 'USD', scale: 2 },
  receiveValue: 1n,
  sending: { peerId: 'peer', sendMaxValue: 1n },
  attempts: isNew ? 0 : 1,
  isHeld: false
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
    beginSending(room) {
      rooms.push(room)
      const found = isNewWaiting ? [leased('new', true)] : []
      isNewWaiting = false
      return Promise.resolve({ leased: found, due: 0, ended: 0, isMore: false })
    },
    sentPayments: {
      take(limit) {
        taken += limit
        return Promise.resolve(Array.from({ length: limit }, (_, index) => leased(String(index), false)))
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
