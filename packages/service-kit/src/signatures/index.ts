export {
  createKeyImporter,
  type ImportedKey,
  type ImportKey,
  isSignedWith,
  type NonceDependencies,
  useNonce
} from './signature-checks.js'
