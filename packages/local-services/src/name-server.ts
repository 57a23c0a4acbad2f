import { createSocket, type Socket } from 'node:dgram'

const HEADER_BYTES = 12
/** After the name: type and class, two bytes each. */
const QUESTION_REST_BYTES = 4
const TYPE_A = 1
/** A response, authoritative, without an error. */
const FLAGS = 0x8400
/** Points to the name in the question. */
const NAME_POINTER = 0xc00c
const CLASS_INTERNET = 1

/** Answers every name with its current addresses, like a headless service of Kubernetes. */
export class NameServer {
  readonly #socket: Socket
  #addresses: readonly string[] = []

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('message', (query, { port, address }) => {
      socket.send(this.#answer(query), port, address)
    })
  }

  /** Starts it on a free port of 127.0.0.1. */
  static async start(): Promise<NameServer> {
    const socket = createSocket('udp4')
    await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
    return new NameServer(socket)
  }

  /** `host:port` of the server. */
  get authority(): string {
    return `127.0.0.1:${String(this.#socket.address().port)}`
  }

  /** @param addresses of version 4, of everything that is ready */
  announce(addresses: readonly string[]): void {
    this.#addresses = addresses
  }

  stop(): void {
    this.#socket.close()
  }

  #answer(query: Buffer): Buffer {
    const nameEnd = query.indexOf(0, HEADER_BYTES) + 1
    const question = query.subarray(HEADER_BYTES, nameEnd + QUESTION_REST_BYTES)
    const addresses = query.readUInt16BE(nameEnd) === TYPE_A ? this.#addresses : []
    const header = Buffer.alloc(HEADER_BYTES)
    const counts = [query.readUInt16BE(0), FLAGS, 1, addresses.length]
    for (const [index, value] of counts.entries()) header.writeUInt16BE(value, index * 2)
    return Buffer.concat([header, question, ...addresses.map(addressRecord)])
  }
}

function addressRecord(address: string): Buffer {
  const record = Buffer.alloc(16)
  // Name, type, class, a lifetime of 0 (4 bytes), and the length of the address.
  record.writeUInt16BE(NAME_POINTER, 0)
  record.writeUInt16BE(TYPE_A, 2)
  record.writeUInt16BE(CLASS_INTERNET, 4)
  record.writeUInt16BE(4, 10)
  record.set(address.split('.').map(Number), 12)
  return record
}
