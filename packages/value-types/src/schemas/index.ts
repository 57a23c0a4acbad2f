export { readAmount } from './amount.js'
export { measuredList, measuredText } from './measured.js'
