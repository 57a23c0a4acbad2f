import { createLogger } from '@open-payments-server/runtime'
import { createInProcessStore, type SharedStore } from '@open-payments-server/shared-store'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { RevocationEvent, RevocationListener } from '../../domain/revocations.js'
import { createRevocationBus, REVOCATIONS_CHANNEL } from './revocation-bus.js'

const logger = createLogger({ service: 'test', level: 'silent' })
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

describe('the revocation bus', () => {
  let store: SharedStore
  let heard: (RevocationEvent | 'interrupted' | 'resumed')[]
  let listener: RevocationListener

  beforeEach(() => {
    store = createInProcessStore()
    heard = []
    listener = {
      onEvent: (event) => heard.push(event),
      onInterrupted: () => heard.push('interrupted'),
      onResumed: () => heard.push('resumed')
    }
  })
  afterEach(() => store.close())

  it('carries revoked tokens and grants to every subscriber, in order', async () => {
    const bus = createRevocationBus(store, logger)
    await bus.subscribe(listener)
    await bus.publish({ kind: 'token', accessTokenHash: Buffer.alloc(32, 7) })
    await bus.publish({ kind: 'grant', grantId: '0190a8b1-0000-7000-8000-000000000001' })
    await settled()
    expect(heard).toEqual([
      { kind: 'token', accessTokenHash: Buffer.alloc(32, 7) },
      { kind: 'grant', grantId: '0190a8b1-0000-7000-8000-000000000001' }
    ])
  })

  it('tells nothing more to a subscriber that left', async () => {
    const bus = createRevocationBus(store, logger)
    const subscription = await bus.subscribe(listener)
    await subscription.close()
    await bus.publish({ kind: 'grant', grantId: '0190a8b1-0000-7000-8000-000000000001' })
    await settled()
    expect(subscription.live).toBe(false)
    expect(heard).toEqual([])
  })

  it('treats a message it cannot read as an interruption, because it may have revoked anything', async () => {
    await createRevocationBus(store, logger).subscribe(listener)
    await store.publish(REVOCATIONS_CHANNEL, Buffer.from([0xff, 0xff, 0xff]))
    await settled()
    expect(heard).toEqual(['interrupted', 'resumed'])
  })
})
