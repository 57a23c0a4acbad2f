import { stopServers } from './servers.mjs'

/** Stops what global-setup.mjs started. */
export default stopServers
