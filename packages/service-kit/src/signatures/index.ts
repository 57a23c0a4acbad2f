export {
  createKeyImporter,
  type ImportKey,
  isSignedWith,
  type NonceDependencies,
  useNonce
} from './signature-checks.js'
