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
    const bus = createRevocationBus({ sharedStore: store, logger })
    await bus.subscribe(listener)
    await bus.publish({ kind: 'token', accessTokenHash: Buffer.alloc(32, 7) })
    await bus.publish({ kind: 'grant', grantId: '0190a8b1-0000-7000-8000-000000000001' })
    await settled()
    expect(heard).toEqual([
      { kind: 'token', accessTokenHash: Buffer.alloc(32, 7) },
      { kind: 'grant', grantId: '0190a8b1-0000-7000-8000-000000000001' }
    ])
  })

  it('tells what is revoked at the same time in one message, in order', async () => {
    const messages: Uint8Array[] = []
    const noticed = { onInterrupted: () => undefined, onResumed: () => undefined }
    await store.subscribe(REVOCATIONS_CHANNEL, { onMessage: (message) => messages.push(message), ...noticed })
    const bus = createRevocationBus({ sharedStore: store, logger })
    await bus.subscribe(listener)
    const tokens = [1, 2, 3].map(
      (byte) => ({ kind: 'token', accessTokenHash: Buffer.alloc(32, byte) }) as const
    )
    const grants = ['0190a8b1-0000-7000-8000-000000000001', '0190a8b1-0000-7000-8000-000000000002'].map(
      (grantId) => ({ kind: 'grant', grantId }) as const
    )
    await Promise.all([...grants, ...tokens].map((event) => bus.publish(event)))
    await settled()
    expect(messages.length).toBe(1)
    expect(heard).toEqual([...grants, ...tokens])
  })

  it('fails for all that it may not have told', async () => {
    const bus = createRevocationBus({
      sharedStore: { ...store, publish: () => Promise.reject(new Error('no Redis')) },
      logger
    })
    const published = [1, 2].map((byte) =>
      bus.publish({ kind: 'token', accessTokenHash: Buffer.alloc(32, byte) })
    )
    for (const result of await Promise.allSettled(published)) expect(result.status).toBe('rejected')
  })

  it('tells nothing more to a subscriber that left', async () => {
    const bus = createRevocationBus({ sharedStore: store, logger })
    const subscription = await bus.subscribe(listener)
    await subscription.close()
    await bus.publish({ kind: 'grant', grantId: '0190a8b1-0000-7000-8000-000000000001' })
    await settled()
    expect(subscription.live).toBe(false)
    expect(heard).toEqual([])
  })

  it('treats a message it cannot read as an interruption, because it may have revoked anything', async () => {
    await createRevocationBus({ sharedStore: store, logger }).subscribe(listener)
    for (const message of ['\u0000', '{}', '[{"grant":"all"}]', '[{"holder":"https://shop.example"}]']) {
      heard = []
      await store.publish(REVOCATIONS_CHANNEL, Buffer.from(message))
      await settled()
      expect(heard).toEqual(['interrupted', 'resumed'])
    }
  })
})
