import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { holdToContract } from './contract-keeper.js'

/** An answer as received on a connection. */
export interface RawAnswer {
  readonly status: number
  /** Names in lower case; of a repeated header the last value. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A connection on which anything can be sent, well-formed or not. */
export interface RawConnection {
  readonly socket: Socket
  /** Resolves to everything received, once the server has closed the connection in any way. */
  readonly ended: Promise<string>
}

/** Connects to a port of this machine. */
export async function connectRaw(port: number, host = '127.0.0.1'): Promise<RawConnection> {
  const socket = connect(port, host)
  const received: Buffer[] = []
  socket.on('data', (bytes) => received.push(bytes))
  // The end of a connection is reported by 'close'; a reset is one of the ways.
  socket.on('error', () => undefined)
  const ended = new Promise<string>((resolve) => {
    socket.once('close', () => {
      resolve(Buffer.concat(received).toString('latin1'))
    })
  })
  await Promise.race([once(socket, 'connect'), ended])
  return { socket, ended }
}

/**
 * Sends text or bytes, and reads until the server closes the connection. Errors are checked against the contract: they have
 * our error body, whatever was sent.
 *
 * @returns the answers, in order
 * @throws ContractViolation when one is not ours
 */
export async function sendRaw(port: number, sent: string | Uint8Array, host?: string): Promise<RawAnswer[]> {
  const { socket, ended } = await connectRaw(port, host)
  socket.write(typeof sent === 'string' ? Buffer.from(sent, 'latin1') : sent)
  const answers = parseAnswers(await ended)
  for (const { status, headers, body: text } of answers) {
    // The request, if it was one, is not parsed here, and nothing describes it.
    const header = (name: string): string | null => headers[name] ?? null
    await holdToContract({ method: 'RAW', url: '/', accept: undefined, status, header, text })
  }
  return answers
}

/** Parses answers that have a length. */
export function parseAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = []
  let rest = text
  while (rest !== '') {
    const headEnd = rest.indexOf('\r\n\r\n')
    if (headEnd < 0) throw new Error(`not an answer: ${rest}`)
    const [first = '', ...lines] = rest.slice(0, headEnd).split('\r\n')
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim()
      ])
    )
    const status = Number(first.split(' ')[1])
    const bodyEnd = headEnd + 4 + Number(headers['content-length'] ?? 0)
    if (status >= 200) answers.push({ status, headers, body: rest.slice(headEnd + 4, bodyEnd) })
    rest = rest.slice(bodyEnd)
  }
  return answers
}
