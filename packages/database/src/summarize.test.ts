import { expect, it } from '@jest/globals'
import { summarize } from './summarize.js'

it.each([
  ['select 1', 'SELECT'],
  ['BEGIN', 'BEGIN'],
  [
    'SELECT "public"."grant_request"."id" FROM "public"."grant_request" WHERE ($1) = 2',
    'SELECT grant_request'
  ],
  ["\n  insert into outgoing_payment (id) values ('secret')", 'INSERT outgoing_payment'],
  ['update only ledger_account set balance = $1', 'UPDATE ledger_account'],
  ['with held as (select id from hold for update) delete from hold using held', 'WITH hold'],
  ["values ('from nobody')", 'VALUES nobody'],
  ['', 'SQL']
])('a statement is named by its operation and its first table: %s', (text, name) => {
  expect(summarize(text)).toBe(name)
})
