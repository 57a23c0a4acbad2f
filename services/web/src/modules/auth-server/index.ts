export { createInteractions } from './interactions.js'
