/**
 * The gRPC contract of the project, generated from the files in `openpayments/`. Names of the auth server's contract are
 * exported under {@link auth}, those of the resource server's operator calls under {@link wallet}, those of both services'
 * events under {@link events}, and those of what operators did and propose under {@link operators}.
 */
export * as auth from './auth.js'
export * as events from './events.js'
export * as operators from './operators.js'
export * as wallet from './wallet.js'
export { fileDescriptors } from './descriptors.js'
