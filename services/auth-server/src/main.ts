import { runServiceProgram } from '@open-payments-server/service-process'
import { composeAuthServer } from './compose.js'
import { loadConfig } from './config.js'

// `node main.js` runs the service; `node main.js migrate` brings its database up to date and exits.

await runServiceProgram({
  name: 'auth-server',
  folder: new URL('..', import.meta.url),
  loadConfig,
  compose: composeAuthServer
})
