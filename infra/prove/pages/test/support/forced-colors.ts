import type { Page } from 'playwright-core'

/** Least contrast of text, and of what is no text, with what is behind it (WCAG 2.2, 1.4.3 and 1.4.11). */
const [OF_TEXT, OF_SHAPES] = [4.5, 3] as const
/** Least width of an outline that shows the focus, in pixels. */
const OUTLINE_PIXELS = 2

/** What the colours of an author tell, before they are replaced. All of it runs in the page. */
interface Told {
  /** Boxes that stand out by their background. */
  readonly boxes: readonly Element[]
  /** Shapes of a drawing, or marks beside each other, that another colour tells apart. */
  readonly pairs: readonly (readonly [Element, Element])[]
}

/**
 * What cannot be seen on a page, or not be told apart, where somebody's own few colours replace those of the page, as high contrast on
 * Windows does: `forced colours: what is lost: element`. The page is left as it was, with nothing focused.
 */
export async function findLostInForcedColors(page: Page): Promise<string[]> {
  const inPage = (main: string): Promise<string[]> =>
    page.evaluate<string[]>(`(() => {
    const [OF_TEXT, OF_SHAPES, OUTLINE_PIXELS] = ${JSON.stringify([OF_TEXT, OF_SHAPES, OUTLINE_PIXELS])};
    ${IN_PAGE.map(String).join('\n')}
    ${main}
  })()`)
  await inPage('globalThis.toldByColours = whatColoursTell(); return []')
  await page.emulateMedia({ forcedColors: 'active' })
  const lost = await inPage(
    `return [...lostTexts(), ...lostControls(), ...lostFocus(), ...lostMeaning(globalThis.toldByColours)]`
  )
  await page.emulateMedia({ forcedColors: 'none' })
  return lost.map((each) => `forced colours: ${each}`)
}

function whatColoursTell(): Told {
  const boxes = shown('body *').filter((element) => {
    const { backgroundColor } = getComputedStyle(element)
    const isPainted = alphaOf(backgroundColor) > 0 && backgroundColor !== backgroundOf(element.parentElement)
    // What comes into sight with the focus has its outline.
    return isPainted && !element.matches('svg *') && element.getBoundingClientRect().bottom > 0
  })
  const groups = [
    ...shown('svg').map((drawing) => Array.from(drawing.querySelectorAll('rect, line, path, circle'))),
    ...shown('.legend').map((legend) => Array.from(legend.children))
  ]
  const pairs = groups.flatMap((group) => {
    const one = new Map(group.map((element) => [lookOf(element), element]))
    const different = [...one.values()]
    return different.flatMap((left, place) =>
      different.slice(place + 1).map((right) => [left, right] as const)
    )
  })
  return { boxes, pairs }
}

/** Text that is hardly another colour than what is behind it. */
function lostTexts(): string[] {
  return shown('body *')
    .filter((element) =>
      Array.from(element.childNodes).some((node) => node.nodeType === 3 && node.nodeValue?.trim() !== '')
    )
    .filter((element) => !element.matches('svg *, script, style, option'))
    .filter((element) => contrast(getComputedStyle(element).color, backgroundOf(element)) < OF_TEXT)
    .map((element) => `no contrast of text: ${nameOf(element)}`)
}

/** Buttons and fields without an edge, and links that look like the text around them. */
function lostControls(): string[] {
  const edged =
    'button:not(.link), .button, input:not([type=hidden], [type=checkbox], [type=radio]), select, textarea, progress'
  const withoutEdge = shown(edged).filter((element) => !hasEdge(element))
  const links = shown('a[href]:not(.button), button.link').filter((link) => {
    const { color, textDecorationLine } = getComputedStyle(link)
    return textDecorationLine === 'none' && !hasEdge(link) && color === getComputedStyle(document.body).color
  })
  const current = shown('[aria-current]').filter((element) => {
    const other = Array.from(element.parentElement?.children ?? []).find(
      (each) => !each.hasAttribute('aria-current')
    )
    return other !== undefined && lookOf(element) === lookOf(other)
  })
  return [
    ...withoutEdge.map((element) => `no edge: ${nameOf(element)}`),
    ...links.map((element) => `looks like text: ${nameOf(element)}`),
    ...current.map((element) => `looks like the others: ${nameOf(element)}`)
  ]
}

/** What gets the focus without an outline that can be seen. */
function lostFocus(): string[] {
  const focusable = shown(
    'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]'
  )
  const lost = focusable.filter((element) => {
    ;(element as HTMLElement).focus({ preventScroll: true })
    return (
      document.activeElement !== element || ![undefined, '::after'].some((part) => isOutlined(element, part))
    )
  })
  ;(document.activeElement as HTMLElement | null)?.blur()
  return lost.map((element) => `no focus: ${nameOf(element)}`)
}

/** What only colours told. */
function lostMeaning({ boxes, pairs }: Told): string[] {
  const behind = (element: Element): string => backgroundOf(element.parentElement)
  const shapes = shown('svg rect, svg line, svg path, svg circle').filter((shape) => {
    const { fill, stroke } = getComputedStyle(shape)
    const isSeen = (color: string): boolean => color !== 'none' && contrast(color, behind(shape)) >= OF_SHAPES
    // Whoever chose the few colours chose no other.
    return ![fill, stroke].some(isSeen) || ![fill, stroke].every(isOfSystem)
  })
  const gone = boxes.filter((box) => !hasEdge(box) && contrast(backgroundOf(box), behind(box)) < OF_SHAPES)
  return [
    ...[...gone, ...shapes].map((element) => `cannot be seen: ${nameOf(element)}`),
    ...pairs
      .filter(([left, right]) => lookOf(left) === lookOf(right))
      .map(([left, right]) => `look the same: ${nameOf(left)} and ${nameOf(right)}`)
  ]
}

function isOfSystem(color: string): boolean {
  const probe = document.body.appendChild(document.createElement('span'))
  const isOne = ['Canvas', 'CanvasText', 'LinkText', 'Highlight', 'GrayText'].some((name) => {
    probe.style.color = name
    return getComputedStyle(probe).color === color
  })
  probe.remove()
  return isOne || color === 'none'
}

/** By what it is told apart from others beside it. */
function lookOf(element: Element): string {
  const { fill, stroke, fontWeight, color, textDecorationLine, borderBottomColor } = getComputedStyle(element)
  const mark = getComputedStyle(element, '::before')
  const isShape = element.closest('svg') !== null
  return isShape
    ? [element.tagName, fill, stroke].join()
    : [color, fontWeight, textDecorationLine, borderBottomColor, mark.content, mark.color].join()
}

function hasEdge(element: Element): boolean {
  const style = getComputedStyle(element)
  return (['Top', 'Right', 'Bottom', 'Left'] as const).some(
    (side) =>
      parseFloat(style[`border${side}Width`]) > 0 &&
      contrast(style[`border${side}Color`], backgroundOf(element.parentElement)) >= OF_SHAPES
  )
}

function isOutlined(element: Element, part: string | undefined): boolean {
  const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(element, part)
  const isDrawn = outlineStyle !== 'none' && parseFloat(outlineWidth) >= OUTLINE_PIXELS
  return isDrawn && contrast(outlineColor, backgroundOf(element.parentElement)) >= OF_SHAPES
}

/** Elements that take room and are not hidden. */
function shown(selector: string): Element[] {
  return Array.from(document.querySelectorAll(selector)).filter((element) => {
    const { width, height } = element.getBoundingClientRect()
    return (
      (width > 0 || height > 0) &&
      element.checkVisibility({ visibilityProperty: true, opacityProperty: true })
    )
  })
}

/** What is painted behind the words of an element. */
function backgroundOf(element: Element | null): string {
  if (element === null) return 'rgb(255, 255, 255)'
  const { backgroundColor } = getComputedStyle(element)
  return alphaOf(backgroundColor) > 0.5 ? backgroundColor : backgroundOf(element.parentElement)
}

function alphaOf(color: string): number {
  return Number(/^rgba\(.*, ([\d.]+)\)$/.exec(color)?.[1] ?? 1)
}

/** Contrast of two colours, the first of which lies on the second: from 1 to 21. */
function contrast(above: string, behind: string): number {
  const channels = (color: string): number[] => (color.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number)
  const luminance = (given: readonly number[]): number => {
    const [red = 0, green = 0, blue = 0] = given.map((value) =>
      value <= 10 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const alpha = alphaOf(above)
  const base = channels(behind)
  const mixed = channels(above).map((value, place) => value * alpha + (base[place] ?? 0) * (1 - alpha))
  const [light = 0, dark = 0] = [luminance(mixed), luminance(base)].sort((a, b) => b - a)
  return (light + 0.05) / (dark + 0.05)
}

function nameOf(element: Element): string {
  const words = element.textContent.trim().slice(0, 30)
  return `${element.tagName.toLowerCase()}${Array.from(element.classList, (each) => `.${each}`).join('')} ${words}`.trim()
}

/** The functions above, which call each other in the page. */
const IN_PAGE = [
  ...[whatColoursTell, lostTexts, lostControls, lostFocus, lostMeaning],
  ...[isOfSystem, lookOf, hasEdge, isOutlined, shown, backgroundOf, alphaOf, contrast, nameOf]
]
