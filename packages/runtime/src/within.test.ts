import { expect, it } from '@jest/globals'
import { within } from './index.js'

it('waiting ends with the result, the error, or the timeout', async () => {
  await expect(within(1_000, 'it', Promise.resolve('answer'))).resolves.toBe('answer')
  await expect(within(1_000, 'it', Promise.reject(new Error('no')))).rejects.toThrow('no')
  await expect(within(1, 'the database', new Promise(() => undefined))).rejects.toThrow(
    'the database did not answer within 1 ms'
  )
})
