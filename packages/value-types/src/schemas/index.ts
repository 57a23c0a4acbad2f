export { measuredList, measuredText } from './measured.js'
