/**
 * What callers may get instead of what they asked for, in words: the tables by which the service answers, each proved complete by
 * the compiler. `docs/errors.md` is made from them.
 */
export { FAILURE_REASONS } from './domain/failure-reasons.js'
export { CODES } from './grpc/operator/answer.js'
export { CALL_WORDS } from './grpc/operator/error-words.js'
export { ANSWERS } from './http/answers.js'
export { ERROR_WORDS } from './http/error-words.js'
