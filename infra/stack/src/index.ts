export { createConsentPage } from './consent-page/app.js'
export { createIdentityProvider } from './consent-page/identity-provider.js'
