import { runServiceProgram } from '@open-payments-server/service-kit/program'
import { loadConfig } from './config.js'

// `node main.js` runs the service; `node main.js migrate` brings its database up to date and exits.

await runServiceProgram({
  name: 'auth-server',
  folder: new URL('..', import.meta.url),
  loadConfig,
  compose: async (config, surroundings) => {
    // Loaded here, because `migrate` needs none of it.
    const { composeAuthServer } = await import('./compose.js')
    return composeAuthServer(config, surroundings)
  }
})
