export { runServiceProgram } from './service-program.js'
