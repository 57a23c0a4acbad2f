export { type ServiceProgram, runServiceProgram } from './service-program.js'
