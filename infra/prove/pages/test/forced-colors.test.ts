import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { startBrowser, type TestBrowser, withBrowser } from '@open-payments-server/testing/browser'
import { findLostInForcedColors } from './support/forced-colors.js'

const OUTLINE = ':focus-visible { outline: 3px solid }'
const FORCED = '@media (forced-colors: active)'
const DRAWING =
  '<svg><rect class="good" width="9" height="9"/><rect class="bad" x="9" width="9" height="9"/></svg>'
const FILLS = '.good { fill: #14693b } .bad { fill: #a3201d }'

withBrowser('looking at a page in forced colours finds', () => {
  let browser: TestBrowser
  beforeAll(async () => {
    browser = await startBrowser()
  })
  afterAll(() => browser.close())

  const lostOf = async (style: string, body: string): Promise<string[]> => {
    const page = await browser.context.newPage()
    await page.setContent(
      `<!doctype html><style>body { background: #fff } ${style}</style><main>${body}</main>`
    )
    const lost = await findLostInForcedColors(page)
    await page.close()
    return lost
  }

  it.each<[string, string, string, string]>([
    [
      'text in colours of its own',
      `${FORCED} { p { forced-color-adjust: none; color: #ddd } }`,
      '<p>paid</p>',
      'no contrast of text: p paid'
    ],
    [
      'a button without an edge',
      'button { border: 0; background: #0b5d51 }',
      '<button>Pay</button>',
      'no edge: button Pay'
    ],
    ['a field without an edge', 'input { border: 0 }', '<input aria-label="amount">', 'no edge: input'],
    [
      'a link that looks like text',
      `${FORCED} { a { color: CanvasText; text-decoration: none } }`,
      '<a href="/x">more</a>',
      'looks like text: a more'
    ],
    [
      'a section that is open, as the others look',
      'a[aria-current] { background: #0b5d51 }',
      '<a href="/a" aria-current="page">A</a><a href="/b">B</a>',
      'looks like the others: a A'
    ],
    [
      'what has no outline with the focus',
      'button:focus-visible { outline: 0; box-shadow: 0 0 4px red }',
      '<button>Pay</button>',
      'no focus: button Pay'
    ],
    [
      'a warning that its background tells',
      'p { background: #fff3e2 }',
      '<p>All of it</p>',
      'cannot be seen: p All of it'
    ],
    [
      'a bar that its background is',
      'i { display: block; height: 9px; background: red }',
      '<i></i>',
      'cannot be seen: i'
    ],
    ['a drawing in colours of its own', FILLS, DRAWING, 'cannot be seen: rect.good'],
    [
      'shapes that become the same',
      `${FILLS} ${FORCED} { rect.good, rect.bad { fill: CanvasText } }`,
      DRAWING,
      'look the same: rect.good and rect.bad'
    ],
    [
      'marks of a legend that become the same',
      'span::before { content: "■" } .good::before { color: #14693b } .bad::before { color: #a3201d }',
      '<p class="legend"><span class="good">done</span><span class="bad">failed</span></p>',
      'look the same: span.good done and span.bad failed'
    ]
  ])('%s', async (_what, style, body, expected) => {
    expect(await lostOf(`${OUTLINE} ${style}`, body)).toContain(`forced colours: ${expected}`)
  })

  it('nothing where edges, outlines and shapes tell it', async () => {
    const style = `${OUTLINE} button { background: #0b5d51 } p { border: 1px solid transparent; background: #fff3e2 } ${FILLS}
      ${FORCED} { .good { fill: CanvasText } .bad { fill: Canvas; stroke: CanvasText } }`
    const body = `<p>All of it</p><button>Pay</button><input aria-label="amount"><a href="/x">more</a>${DRAWING}`
    expect(await lostOf(style, body)).toEqual([])
  })
})
