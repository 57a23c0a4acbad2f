// Loaded into each service of the quick start before the service itself: should the stack be killed, so that it cannot
// stop its services any more, they stop by themselves.
process.once('disconnect', () => {
  process.kill(process.pid, 'SIGTERM')
})
// Listening must not keep a process from ending that has nothing else to do.
process.channel?.unref()
