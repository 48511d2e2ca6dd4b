// Draws a reply that is still being written, as the server will draw it when it is complete: with the same elements, but
// out of text nodes only, because what a model writes is never trusted with markup here.
import { storyBlocks, type Block } from "./story_blocks"
import { inline } from "./story_inline"

// Beyond this length a text is drawn as plain paragraphs, as the server does.
const LONGEST = 60_000

export function drawStory(element: HTMLElement, text: string): void {
  const blocks = text.length > LONGEST ? paragraphs(text) : storyBlocks(text.replace(/[\u202a-\u202e]/gu, ""))
  const before = [...element.children]
  blocks.forEach((block, index) => {
    const source = JSON.stringify(block)
    const drawn = before[index]
    if (!(drawn instanceof HTMLElement)) {
      element.append(remember(draw(block), source))
    } else if (sources.get(drawn) !== source) {
      const fresh = draw(block)
      // The element stays, and with it the mark that shows where the next word will stand.
      if (drawn.tagName === fresh.tagName) remember(drawn, source).replaceChildren(...fresh.childNodes)
      else drawn.replaceWith(remember(fresh, source))
    }
  })
  before.slice(blocks.length).forEach((drawn) => drawn.remove())
}

// What each element was drawn from, so that only the last ones are drawn again.
const sources = new WeakMap<HTMLElement, string>()

function remember(element: HTMLElement, source: string): HTMLElement {
  sources.set(element, source)
  return element
}

function paragraphs(text: string): Block[] {
  const parts = text.split(/\n[ \t]*\n\s*/u).filter((part) => part.trim() !== "")
  return parts.map((part) => ({ kind: "plain", text: part }))
}

function draw(block: Block): HTMLElement {
  switch (block.kind) {
    case "rule":
      return document.createElement("hr")
    case "plain":
      return create("p", block.text)
    case "paragraph":
      return create("p", ...inline(block.text, block.open))
    case "heading":
      // The page and the message have headings of their own above these.
      return create(`h${Math.min(6, block.level + 3)}`, ...inline(block.text, block.open))
    case "code": {
      const code = document.createElement("code")
      code.append(block.text)
      const element = create("pre", code)
      element.tabIndex = 0
      return element
    }
    case "quote":
      return create("blockquote", ...block.blocks.map(draw))
    case "list": {
      const items = block.items.map((item) => create("li", ...item.flatMap((part) => drawInItem(part, block.tight))))
      const list = create(block.start === undefined ? "ul" : "ol", ...items)
      if (block.start !== undefined && block.start !== 1) list.setAttribute("start", String(block.start))
      return list
    }
    case "table": {
      const [head = [], ...rows] = block.rows
      const table = document.createElement("table")
      table.tabIndex = 0
      table.createTHead().append(row("th", head))
      if (rows.length > 0) table.createTBody().append(...rows.map((cells) => row("td", cells)))
      return table
    }
  }
}

function drawInItem(block: Block, tight: boolean): Node[] {
  return tight && block.kind === "paragraph" ? inline(block.text, block.open) : [draw(block)]
}

function row(tag: "td" | "th", cells: string[]): HTMLTableRowElement {
  const element = document.createElement("tr")
  element.append(...cells.map((cell) => create(tag, ...inline(cell, false))))
  return element
}

// Every block finds its own direction.
function create(tag: string, ...content: (Node | string)[]): HTMLElement {
  const element = document.createElement(tag)
  element.dir = "auto"
  element.append(...content)
  return element
}
