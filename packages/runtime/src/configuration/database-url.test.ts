import { expect, it } from '@jest/globals'
import { splitDatabaseUrl } from './index.js'

it.each([
  ['postgresql://postgres/wallet', ['postgresql://postgres/wallet']],
  [
    'postgres://u:p%40,@[::1]:5432/wallet?sslmode=verify-full',
    ['postgres://u:p%40,@[::1]:5432/wallet?sslmode=verify-full']
  ],
  ['postgresql:///wallet?host=/run/postgresql', ['postgresql:///wallet?host=/run/postgresql']],
  [
    'postgresql://u:p@a:5432,b,[::1]:1/wallet?target_session_attrs=read-write',
    [
      'postgresql://u:p@a:5432/wallet?target_session_attrs=read-write',
      'postgresql://u:p@b/wallet?target_session_attrs=read-write',
      'postgresql://u:p@[::1]:1/wallet?target_session_attrs=read-write'
    ]
  ]
])('%s is understood', (url, urls) => {
  expect(splitDatabaseUrl(url)).toEqual(urls)
})

it.each([
  'wallet',
  'mysql://db/wallet',
  'postgresql://db:port/wallet',
  'postgresql://a,b/wallet',
  'postgresql://a,b/wallet?target_session_attrs=any',
  'postgresql://a,,b/wallet?target_session_attrs=primary'
])('%s is not', (url) => {
  expect(splitDatabaseUrl(url)).toBeUndefined()
})
