/**
 * The gRPC contract of the project, generated from the files in `openpayments/`. Names of the auth server's contract are
 * exported under {@link auth}, those of the resource server's operator calls under {@link wallet}.
 */
export * as auth from './auth.js'
export * as wallet from './wallet.js'
export { fileDescriptors } from './descriptors.js'
