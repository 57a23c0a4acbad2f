import { afterAll, beforeAll, describe } from '@jest/globals'
import { PATIENT } from '../src/patience.js'
import { itLetsNobodyWinTwice } from '../src/races.js'
import { startSystem, type System } from '../src/system.js'

describe('requests that race each other', () => {
  let system: System
  beforeAll(async () => {
    system = await startSystem({ resource: PATIENT })
  })
  afterAll(() => system.stop())

  itLetsNobodyWinTwice(() => system, {
    payments: 60,
    room: 10,
    quotePayments: 10,
    receiverPayments: 12,
    receiverRoom: 1_000n,
    continuations: 4,
    rotations: 5,
    repetitions: 8,
    halfBalancePayments: 6
  })
})
