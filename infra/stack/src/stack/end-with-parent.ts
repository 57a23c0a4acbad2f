// Loaded into each service of the quick start before the service itself: if the stack is killed and cannot stop its services, they
// stop by themselves.
process.once('disconnect', () => {
  process.kill(process.pid, 'SIGTERM')
})
// Listening must not keep an otherwise finished process from ending.
process.channel?.unref()
