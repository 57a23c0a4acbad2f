import { describe, expect, it } from '@jest/globals'
import { changedMembers, membersOf } from './members.js'

describe('what a message has', () => {
  it('is named and valued apart, however deep', () => {
    const message = {
      name: 'east',
      value: '700',
      isDefault: false,
      holder: { issuer: 'https://issuer.example', sub: 'alice' },
      routes: ['g.east', 'g.far'],
      empty: {},
      unset: null
    }
    expect(membersOf(JSON.stringify(message))).toEqual([
      ['name', 'east'],
      ['value', '700'],
      ['isDefault', 'false'],
      ['holder.issuer', 'https://issuer.example'],
      ['holder.sub', 'alice'],
      ['routes.0', 'g.east'],
      ['routes.1', 'g.far'],
      ['empty', '–'],
      ['unset', '–']
    ])
  })

  it.each(['', '{}', '[]', '"text"'])('is nothing where there is no object: %j', (json) => {
    expect(membersOf(json)).toEqual([])
  })

  it('is no other than it says, and in the direction of the page', () => {
    const publicName = 'Bob · accountName: bob\u202e\u2066\u0085\nvalue: 1'
    expect(membersOf(JSON.stringify({ publicName, accountName: 'mallory' }))).toEqual([
      ['publicName', 'Bob · accountName: bob value: 1'],
      ['accountName', 'mallory']
    ])
    expect(membersOf(JSON.stringify({ routes: ["g.a', 'name': 'b"] }))).toEqual([
      ['routes.0', "g.a', 'name': 'b"]
    ])
  })

  it('is as long as it is: somebody decides about it', () => {
    const url = `https://hooks.example/${'a'.repeat(2_000)}`
    expect(membersOf(JSON.stringify({ url }))).toEqual([['url', url]])
  })
})

describe('what changes of a subject', () => {
  it('are the members that differ', () => {
    const before = JSON.stringify({ name: 'a', holder: { issuer: 'i', sub: 'x' } })
    const after = JSON.stringify({ name: 'a', holder: { issuer: 'i', sub: 'y' }, more: 'z' })
    expect(changedMembers({ before, after })).toEqual([
      [['holder.sub', 'x']],
      [
        ['holder.sub', 'y'],
        ['more', 'z']
      ]
    ])
  })

  it('is all of it where it begins or ends, and also what looks the same', () => {
    const is = JSON.stringify({ name: 'a' })
    expect(changedMembers({ before: '', after: is })).toEqual([[], [['name', 'a']]])
    expect(changedMembers({ before: is, after: '' })).toEqual([[['name', 'a']], []])
    expect(changedMembers({ before: is, after: JSON.stringify({ name: 'a\u200b' }) })).toEqual([
      [['name', 'a']],
      [['name', 'a']]
    ])
  })
})
