export { openStores } from './open-stores.js'
