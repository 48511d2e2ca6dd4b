import { isOnlyTags } from "./story_inline"

// A part of a story that stands on lines of its own. What is `open` is still being written.
export type Block =
  | { kind: "plain"; text: string }
  | { kind: "paragraph"; text: string; open: boolean }
  | { kind: "heading"; level: number; text: string; open: boolean }
  | { kind: "code"; text: string }
  | { kind: "quote"; blocks: Block[] }
  | { kind: "list"; start: number | undefined; tight: boolean; items: Block[][] }
  | { kind: "table"; rows: string[][] }
  | { kind: "rule" }

const DEEPEST = 10

const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$/u
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/u
const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/u
const QUOTE = /^ {0,3}> ?/u
const ITEM = /^( {0,3})([-*+]|(\d{1,9})[.)])([ \t]+)(?=\S)/u
const COLUMNS = /^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/u

// The blocks of Markdown that the server knows too.
export function storyBlocks(text: string): Block[] {
  return read(text.split("\n"), true, 0)
}

function read(lines: string[], open: boolean, depth: number): Block[] {
  const blocks: Block[] = []
  let at = 0
  while (at < lines.length) {
    const end = blockEnd(lines, at, depth)
    const block = readBlock(lines.slice(at, end), open && end === lines.length, depth)
    if (block) blocks.push(block)
    at = end
  }
  return blocks
}

function blockEnd(lines: string[], at: number, depth: number): number {
  const line = lines[at] ?? ""
  if (line.trim() === "" || HEADING.test(line) || RULE.test(line)) return at + 1
  const fence = FENCE.exec(line)
  if (fence) return fenceEnd(lines, at, fence[1] ?? "")
  if (depth < DEEPEST && ITEM.test(line)) return listEnd(lines, at)
  let end = at + 1
  const goesOn = (next: string): boolean => !startsBlock(next) || (QUOTE.test(line) && QUOTE.test(next))
  while (end < lines.length && lines[end]?.trim() !== "" && goesOn(lines[end] ?? "")) end += 1
  return end
}

function fenceEnd(lines: string[], at: number, fence: string): number {
  const end = lines.findIndex((line, index) => index > at && isFence(line) && line.trim().startsWith(fence))
  return end < 0 ? lines.length : end + 1
}

// A list goes on over blank lines when what follows is another item, or is indented as far as the words of the last one.
function listEnd(lines: string[], at: number): number {
  const ordered = isOrdered(lines[at] ?? "")
  let width = contentWidth(lines[at] ?? "")
  let end = at + 1
  while (end < lines.length) {
    const line = lines[end] ?? ""
    if (line.trim() === "") {
      const next = lines.slice(end).findIndex((later) => later.trim() !== "")
      const follower = next < 0 ? "" : (lines[end + next] ?? "")
      if (next < 0 || !(indent(follower) >= width || (ITEM.test(follower) && isOrdered(follower) === ordered))) return end
      end += next
      continue
    }
    if (indent(line) < width) {
      if (ITEM.test(line) && !RULE.test(line)) {
        if (isOrdered(line) !== ordered) return end
        width = contentWidth(line)
      } else if (startsBlock(line) || lines[end - 1]?.trim() === "") return end
    }
    end += 1
  }
  return end
}

function readBlock(lines: string[], open: boolean, depth: number): Block | undefined {
  const [first = ""] = lines
  const heading = HEADING.exec(first)
  if (heading) return { kind: "heading", level: heading[1]?.length ?? 1, text: heading[2] ?? "", open }
  if (RULE.test(first)) return { kind: "rule" }
  const fence = FENCE.exec(first)
  if (fence) {
    const closed = lines.length > 1 && fenceEnd(lines, 0, fence[1] ?? "") === lines.length && isFence(lines.at(-1) ?? "")
    const code = lines.slice(1, closed ? -1 : undefined)
    return { kind: "code", text: code.length > 0 ? `${code.join("\n")}\n` : "" }
  }
  if (depth < DEEPEST && QUOTE.test(first)) {
    return { kind: "quote", blocks: read(lines.map((line) => line.replace(QUOTE, "")), open, depth + 1) }
  }
  if (depth < DEEPEST && ITEM.test(first)) return readList(lines, open, depth)
  if (lines.length > 1 && first.includes("|") && COLUMNS.test(lines[1] ?? "")) return readTable(lines)
  const text = lines.map((line) => line.trim()).join("\n")
  return isOnlyTags(text) ? undefined : { kind: "paragraph", text, open }
}

function readList(lines: string[], open: boolean, depth: number): Block {
  const items: string[][] = []
  let width = 0
  for (const line of lines) {
    if ((items.length === 0 || indent(line) < width) && ITEM.test(line)) {
      width = contentWidth(line)
      items.push([line.slice(width)])
    } else {
      items.at(-1)?.push(line.slice(Math.min(width, indent(line))))
    }
  }
  const tight = !items.some((item, index) => hasGap(item, index < items.length - 1))
  const start = ITEM.exec(lines[0] ?? "")?.[3]
  return {
    kind: "list",
    start: start === undefined ? undefined : Number(start),
    tight,
    items: items.map((item, index) => read(item, open && index === items.length - 1, depth + 1)),
  }
}

function hasGap(item: string[], another: boolean): boolean {
  const last = another ? item.length : item.length - 1
  return item.some((line, index) => index > 0 && index < last && line.trim() === "")
}

function readTable(lines: string[]): Block {
  const rows = lines.filter((_, index) => index !== 1).map(cells)
  const columns = rows[0]?.length ?? 0
  return { kind: "table", rows: rows.map((row) => Array.from({ length: columns }, (_, index) => row[index] ?? "")) }
}

function cells(line: string): string[] {
  const inner = line.trim().replace(/^\|/u, "").replace(/(?<!\\)\|$/u, "")
  return inner.split(/(?<!\\)\|/u).map((cell) => cell.trim().replaceAll("\\|", "|"))
}

// What ends a paragraph without a blank line.
function startsBlock(line: string): boolean {
  if (HEADING.test(line) || RULE.test(line) || FENCE.test(line) || QUOTE.test(line)) return true
  const item = ITEM.exec(line)
  return item !== null && (item[3] === undefined || item[3] === "1")
}

function isFence(line: string): boolean {
  return /^ {0,3}(?:`{3,}|~{3,})[ \t]*$/u.test(line)
}

function isOrdered(line: string): boolean {
  return ITEM.exec(line)?.[3] !== undefined
}

function contentWidth(line: string): number {
  return ITEM.exec(line)?.[0].length ?? 0
}

function indent(line: string): number {
  return line.length - line.trimStart().length
}
