export { createSecretBox, type SecretBox, type SecretUse } from './secret-box.js'
