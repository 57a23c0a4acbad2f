export type { Clock } from './clock.js'
