import { expect, it } from '@jest/globals'
import { kebabCase, snakeCase } from './snake-case.js'

it.each(['released', 'limit-exceeded', 'more-debited-than-reserved'])('writes %s, and reads it', (word) => {
  expect(snakeCase(word)).toMatch(/^[a-z]+(_[a-z]+)*$/)
  expect(kebabCase(snakeCase(word))).toBe(word)
})
