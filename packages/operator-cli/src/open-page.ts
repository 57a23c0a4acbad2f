import { spawn } from 'node:child_process'

/** Opens a page in the person's own browser, if there is one. Errors are ignored, because its address was printed. */
export function openPage(url: string): void {
  const commands: Partial<Record<NodeJS.Platform, [string, ...string[]]>> = {
    darwin: ['open', url],
    win32: ['rundll32', 'url.dll,FileProtocolHandler', url]
  }
  const [command, ...parameters] = commands[process.platform] ?? ['xdg-open', url]
  const opener = spawn(command, parameters, { stdio: 'ignore', detached: true })
  opener.on('error', () => undefined)
  opener.unref()
}
