export { readBase64url } from './base64url.js'
export { contentHash } from './content-hash.js'
export { withoutFinalSlashes } from './final-slashes.js'
export { normalizeWalletAddress, parseHttpUrl, URL_LENGTH_MAX } from './http-url.js'
export {
  hashSecret,
  idBefore,
  isUuid,
  newId,
  type Random,
  randomSecret,
  uuidV7,
  uuidV8
} from './identifiers.js'
export type { PageEnd } from './page-end.js'
