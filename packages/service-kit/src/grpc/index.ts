export { answering } from './answering.js'
export { invalidField, readEventTypes, readInstant } from './fields.js'
export {
  cutPage,
  type Page,
  PAGE_SIZE_DEFAULT,
  PAGE_SIZE_MAX,
  readPageSize,
  readPageToken,
  readTextToken,
  unknownPageToken,
  writePageToken,
  writeTextToken
} from './pages.js'
export { STATUS_WORDS } from './status-words.js'
export { MESSAGE_BYTES_MAX, startGrpcServices } from './start-grpc-services.js'
