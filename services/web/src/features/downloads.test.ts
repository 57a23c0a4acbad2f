import { afterEach, describe, expect, it } from '@jest/globals'
import { createHttpApp, type RunningHttpServer, startHttpServer } from '@open-payments-server/http-server'
import { createLogger } from '@open-payments-server/runtime'
import { ServiceAway } from '../domain/grant.js'
import { sendDownload } from './downloads.js'

type Pages = () => AsyncGenerator<readonly string[]>

describe('files', () => {
  let server: RunningHttpServer | undefined
  afterEach(() => server?.stop(0))

  const download = async (kind: 'csv' | 'json', pages: Pages, method = 'GET'): Promise<Response> => {
    const app = createHttpApp({
      logger: createLogger({ service: 'test', level: 'silent' }),
      bodyBytesMax: 100,
      unexpectedCode: '500',
      badRequestCode: '400',
      routes: [
        {
          method: 'GET',
          path: '/file',
          handle: (request, response) =>
            sendDownload(request, response, {
              name: 'names',
              kind,
              columns: ['name', 'length'],
              toRows: (name) => [[name, String(name.length)]],
              toJson: (name) => ({ name }),
              pages: pages()
            })
        }
      ]
    })
    server = await startHttpServer(app, { host: '127.0.0.1', port: 0 })
    // eslint-disable-next-line no-restricted-globals -- because no contract describes files, and `send` reads answers whole
    return fetch(`http://127.0.0.1:${String(server.port)}/file`, { method })
  }
  const of = (...all: (readonly string[])[]): Pages =>
    async function* () {
      for (const page of all) yield await Promise.resolve(page)
    }

  it.each(['=1+1', '+1', '-1', '@sum', '\tx', '\rx', '＝1', '=cmd|" /C calc"!A0'])(
    'begin no cell with what a spreadsheet takes for a formula: %j',
    async (name) => {
      const text = (await (await download('csv', of([name]))).text()).replace(/^\ufeff/, '')
      const cell = /^name,length\r\n("?)([^]*)\1,\d+\r\n$/.exec(text)?.[2]
      expect(cell).toBe(`'${name.replaceAll('"', '""')}`)
    }
  )

  it.each([
    ['Rent;=HYPERLINK("x")', `"Rent;'=HYPERLINK(""x"")"`],
    ['Rent; \t@sum', "Rent;' \t'@sum"],
    ['a;b;＝1', "a;b;'＝1"],
    ['a\t＋1', "a\t'＋1"],
    ['a,;\u00a0-1', `"a,;'\u00a0-1"`],
    ['a;b\n=1', `"a;b\n'=1"`],
    [' =1', "' =1"],
    ['1 = 1; a-b\tc+d;e', '1 = 1; a-b\tc+d;e']
  ])('begin no cell with one where a semicolon or tab divides cells: %j', async (name, cell) => {
    const text = await (await download('csv', of([name]))).text()
    expect(text).toBe(`name,length\r\n${cell},${String(name.length)}\r\n`)
  })

  it('have every page, quoted where they must be', async () => {
    const answer = await download('csv', of(['a,b', 'c"d'], [], ['e\nf']))
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(await answer.text()).toBe('name,length\r\n"a,b",3\r\n"c""d",3\r\n"e\nf",3\r\n')
    await server?.stop(0)
    const json = await download('json', of(['a'], ['b', 'c']))
    expect(await json.json()).toEqual([{ name: 'a' }, { name: 'b' }, { name: 'c' }])
    await server?.stop(0)
    expect(await (await download('json', of([]))).json()).toEqual([])
  })

  it('that cannot be read to their end are not whole, and those that cannot begin are an error', async () => {
    const broken = await download('csv', async function* () {
      yield await Promise.resolve(['a'])
      throw new ServiceAway('the service')
    })
    await expect(broken.text()).rejects.toThrow('terminated')
    await server?.stop(0)
    // eslint-disable-next-line require-yield -- because it fails before
    const nothing = await download('csv', async function* () {
      await Promise.resolve()
      throw new ServiceAway('the service')
    })
    expect(nothing.status).toBe(500)
  })

  it('are not read for whoever only wants to know whether they are there', async () => {
    let pages = 0
    const answer = await download(
      'json',
      async function* () {
        for (; pages < 100; pages += 1) yield await Promise.resolve(['a'])
      },
      'HEAD'
    )
    expect([answer.status, pages]).toEqual([200, 0])
  })
})
