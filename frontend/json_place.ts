// Where something stands in a text.
export interface TextPlace {
  start: number
  end: number
}

// The place that a path such as `pipelines[0].steps[2].kind` leads to in a JSON text; if it leads on to what is not
// there, the last place on the way.
export function placeOfPath(text: string, path: string): TextPlace {
  let start = afterSpace(text, 0)
  for (const part of path.match(/[^.[\]]+/g) ?? []) {
    const next = text[start] === "{" ? valueOf(text, start, part) : text[start] === "[" ? itemOf(text, start, Number(part)) : -1
    if (next < 0) break
    start = next
  }
  return { start, end: endOfValue(text, start) }
}

// Lines and columns count from one.
export function placeOfColumn(text: string, line: number, column: number): TextPlace {
  const lines = text.split("\n")
  const before = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0)
  const start = Math.min(before + column - 1, text.length)
  return { start, end: Math.min(start + 1, text.length) }
}

function valueOf(text: string, object: number, name: string): number {
  let at = afterSpace(text, object + 1)
  while (text[at] === '"') {
    const end = endOfValue(text, at)
    const value = afterSpace(text, afterSpace(text, end) + 1)
    if (text.slice(at + 1, end - 1) === name) return value
    at = afterSpace(text, afterSpace(text, endOfValue(text, value)) + 1)
  }
  return -1
}

function itemOf(text: string, list: number, index: number): number {
  let at = afterSpace(text, list + 1)
  for (let number = 0; at < text.length && text[at] !== "]"; number++) {
    if (number === index) return at
    const end = afterSpace(text, endOfValue(text, at))
    if (text[end] !== ",") return -1
    at = afterSpace(text, end + 1)
  }
  return -1
}

function endOfValue(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const letter = text[at] as string
    if (letter === '"') {
      at = endOfString(text, at)
      if (depth === 0) return at + 1
    } else if ("{[".includes(letter)) depth++
    else if ("}]".includes(letter)) {
      depth--
      if (depth <= 0) return depth < 0 ? at : at + 1
    } else if (depth === 0 && /[\s,]/.test(letter)) return at
  }
  return text.length
}

// The closing quotation mark.
function endOfString(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1
  return at
}

function afterSpace(text: string, start: number): number {
  let at = start
  while (at < text.length && /\s/.test(text[at] as string)) at++
  return at
}
