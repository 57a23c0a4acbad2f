import { expect, it } from '@jest/globals'
import { createEndpointSecrets, drawSecret, isSecret } from './secret.js'

const ID = '0190a8b1-0000-7000-8000-000000000001'
const OTHER_ID = '0190a8b1-0000-7000-8000-000000000002'

it('a secret is drawn anew each time', () => {
  const drawn = Array.from({ length: 100 }, drawSecret)
  expect(new Set(drawn).size).toBe(100)
  expect(drawn.every(isSecret)).toBe(true)
})

it('a secret can be read with the key that encrypted it, also once another key encrypts', async () => {
  const secret = drawSecret()
  const sealed = await createEndpointSecrets(['the first key of webhooks']).seal(ID, secret)
  expect(sealed).not.toContain(secret.slice(6, 20))
  const rotated = createEndpointSecrets(['the second key of webhooks', 'the first key of webhooks'])
  expect(await rotated.open(ID, sealed)).toBe(secret)
  expect(await rotated.open(ID, await rotated.seal(ID, secret))).toBe(secret)
})

it('a secret cannot be read with another key, nor as that of another endpoint', async () => {
  const box = createEndpointSecrets(['the first key of webhooks'])
  const sealed = await box.seal(ID, drawSecret())
  await expect(createEndpointSecrets(['another key of webhooks']).open(ID, sealed)).rejects.toThrow('no key')
  await expect(box.open(OTHER_ID, sealed)).rejects.toThrow('another webhook endpoint')
})
