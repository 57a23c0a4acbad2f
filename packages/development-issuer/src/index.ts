export { type DevelopmentIssuer, startDevelopmentIssuer } from './start.js'
export { PASSWORD_ACR } from './provider.js'
export type { DevelopmentIssuerOptions } from './options.js'
