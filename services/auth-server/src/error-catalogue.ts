/**
 * What callers may get instead of what they asked for, in words: the tables by which the service answers, each proved complete by
 * the compiler. `docs/errors.md` is made from them.
 */
export { CODES } from './grpc/answer.js'
export { CALL_WORDS, RESERVE_WORDS } from './grpc/error-words.js'
export { ANSWERS, BAD_REQUEST_CODE, UNAVAILABLE_CODE } from './http/answers.js'
export { ERROR_WORDS } from './http/error-words.js'
