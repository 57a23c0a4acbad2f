import { randomUUID } from 'node:crypto'
import { createInProcessStore } from '@open-payments-server/shared-store'
import { afterEach, describe, expect, it } from '@jest/globals'
import { ALICE, startTestResourceServer, type TestResourceServer } from './support/resource-server.js'

const LIST = [{ type: 'incoming-payment' as const, actions: ['list'] }]

let service: TestResourceServer | undefined

afterEach(async () => {
  await service?.stop()
  service = undefined
})

describe('marks of nonces', () => {
  it('are left by no request beyond the limit of its client', async () => {
    const marks: string[] = []
    const store = createInProcessStore()
    const markOnce = (key: string): Promise<boolean> => {
      marks.push(key)
      return Promise.resolve(true)
    }
    service = await startTestResourceServer({
      settings: { RATE_LIMITS: 'true', RATE_LIMIT_CLIENT_REQUESTS: '2' },
      overrides: { sharedStore: { ...store, markOnce } }
    })
    const shop = service.createClient('shop')
    const list = () =>
      shop.request(LIST, 'GET', `/incoming-payments?wallet-address=${encodeURIComponent(ALICE)}`, {
        signature: { nonce: randomUUID() }
      })
    const statuses = [await list(), await list(), await list(), await list()].map(({ status }) => status)
    expect(statuses).toEqual([200, 200, 429, 429])
    expect(marks).toHaveLength(2)
    await store.close()
  })
})
