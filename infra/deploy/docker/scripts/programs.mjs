/** What images are made of: the name of each, and the package that it runs. */
const packages = {
  'auth-server': '@open-payments-server/auth-server',
  'resource-server': '@open-payments-server/resource-server',
  web: '@open-payments-server/web',
  operator: '@open-payments-server/operator-cli',
  // For development alone: whoever clicks on a name is signed in.
  'development-issuer': '@open-payments-server/development-issuer'
}

/** The package of every image. */
export const packageNames = Object.values(packages)

/**
 * The package of an image. Ends the process if there is no such image.
 *
 * @param {string | undefined} program the name of the image
 * @param {string} usage how the script is called, with `<program>`
 */
export function packageOf(program, usage) {
  if (program !== undefined && Object.hasOwn(packages, program)) return packages[program]
  console.error(`  usage: ${usage.replace('<program>', `<${Object.keys(packages).join('|')}>`)}`)
  process.exit(1)
}
