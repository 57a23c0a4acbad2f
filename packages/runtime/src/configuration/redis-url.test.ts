import { expect, it } from '@jest/globals'
import { splitRedisUrl } from './index.js'

it.each([
  ['redis://redis', ['redis://redis']],
  ['rediss://u:p%40,@[::1]:6379/1', ['rediss://u:p%40,@[::1]:6379/1']],
  ['redis:///0', ['redis:///0']],
  ['rediss://u:p@a:1,b,[::1]:2/3', ['rediss://u:p@a:1/3', 'rediss://u:p@b/3', 'rediss://u:p@[::1]:2/3']]
])('%s is understood', (url, urls) => {
  expect(splitRedisUrl(url)).toEqual(urls)
})

it.each([
  'redis',
  'http://redis',
  'redis://redis:port',
  'redis://a,,b',
  'redis://a,b,',
  'redis://a:1,b:port'
])('%s is not', (url) => {
  expect(splitRedisUrl(url)).toBeUndefined()
})
