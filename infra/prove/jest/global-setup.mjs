import { buildIfChanged } from './built-packages.mjs'
import { startServers } from './servers.mjs'

/** Starts what the tests need; see servers.mjs. */
export default async function globalSetup() {
  if (
    !process.execArgv
      .concat(process.env.NODE_OPTIONS ?? '')
      .join(' ')
      .includes('--experimental-vm-modules')
  ) {
    throw new Error('run the tests with `npm test`, or set NODE_OPTIONS=--experimental-vm-modules')
  }
  await buildIfChanged('testing') // for contract-environment.mjs
  await startServers()
}
