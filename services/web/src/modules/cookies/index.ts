export { createSealer, type Sealer } from './sealer.js'
export { CookieJar, type CookieOptions } from './cookie-jar.js'
