/** How a provider's pages look. */
export interface Brand {
  readonly name: string
  /** Colour of buttons on light pages: `#` and six hexadecimal digits. */
  readonly color: string
  readonly colorDark: string
  /** Whether there is a logo at `/logo.svg`. */
  readonly hasLogo: boolean
}

/** Black or white, whichever can be read better on a colour (WCAG 2.2, relative luminance). */
export function readableOn(color: string): '#000000' | '#ffffff' {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((start) => {
    const share = Number.parseInt(color.slice(start, start + 2), 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
  return (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) ? '#000000' : '#ffffff'
}
