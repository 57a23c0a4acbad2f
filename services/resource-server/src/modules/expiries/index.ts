/** What will expire, and is to be told of then (table `expiry`). */
export { dueExpiries, type ExpiringKind, scheduled } from './expiries.js'
