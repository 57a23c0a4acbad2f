export { createKeyImporter, isSignedWith, type NonceDependencies, useNonce } from './signature-checks.js'
