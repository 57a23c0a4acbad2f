/** What this provider holds at the auth servers of other providers, to read what it pays there. */
export { createGrantStore } from './store.js'
