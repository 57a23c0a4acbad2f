/** Header fields, alternating names and values. */
export type Fields = readonly string[]
