// Asks each address whether it is ready, until all are or a minute has passed: network policies take a moment to hold.
const addresses = process.argv.slice(1)
const end = Date.now() + Number(process.env.PATIENCE_SECONDS) * 1000

const ask = async (address) => {
  for (;;) {
    const answer = await fetch(address, { signal: AbortSignal.timeout(5000) }).then(
      async (response) => `${response.status} ${await response.text()}`,
      (error) => `${error.message} ${error.cause?.message ?? ''}`
    )
    const isReady = answer.startsWith('200 ')
    if (isReady || Date.now() > end) {
      console.log(`${address}: ${answer}`)
      return isReady
    }
    await new Promise((resolve) => setTimeout(resolve, 1000))
  }
}

Promise.all(addresses.map(ask)).then((results) => {
  process.exitCode = results.every(Boolean) ? 0 : 1
})
