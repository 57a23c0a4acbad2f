/** What clients and wallets publish: their keys and documents, fetched and cached. Owns no table. */
export { createClientDirectory } from './client-directory.js'
