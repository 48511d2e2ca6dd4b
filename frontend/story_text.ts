// Draws a reply that is still being written: paragraphs, emphasis and speech, out of text nodes only, because what a
// model writes is never trusted with markup here. The server draws the finished message.

// What has begun and has not ended yet is drawn as though it would: the end is usually on its way.
const INLINE = /(\*{1,3})(?=[^\s*])(.+?)(?:(?<=\S)\1|$)|(?<![\p{L}\p{N}])"(?=\S)[^"]*(?:"|$)|“[^”]*(?:”|$)|«[^»]*(?:»|$)/su

// Looking for pairs in a wall of text would take longer than reading it.
const LONGEST_PARAGRAPH = 4_000

const EMPHASIS: Record<string, string[]> = { "*": ["em"], "**": ["strong"], "***": ["strong", "em"] }

export function drawStory(element: HTMLElement, text: string): void {
  const paragraphs = text.split(/\n{2,}/u).filter((paragraph) => paragraph.trim() !== "")
  paragraphs.forEach((paragraph, index) => {
    const drawn = element.children[index]
    if (drawn instanceof HTMLParagraphElement) {
      if (sources.get(drawn) !== paragraph) drawParagraph(drawn, paragraph)
    } else {
      element.append(drawParagraph(document.createElement("p"), paragraph))
    }
  })
  while (element.children.length > paragraphs.length) element.lastElementChild?.remove()
}

// What each paragraph was drawn from, so that only the last ones are drawn again.
const sources = new WeakMap<HTMLParagraphElement, string>()

function drawParagraph(element: HTMLParagraphElement, text: string): HTMLParagraphElement {
  sources.set(element, text)
  element.replaceChildren(...inline(text))
  return element
}

function inline(text: string): Node[] {
  if (text.length > LONGEST_PARAGRAPH) return lines(text)
  const nodes: Node[] = []
  let rest = text
  for (let match = INLINE.exec(rest); match; match = INLINE.exec(rest)) {
    nodes.push(...lines(rest.slice(0, match.index)))
    const [whole, stars, emphasised] = match
    if (stars && emphasised) nodes.push(nest(EMPHASIS[stars] ?? [], inline(emphasised)))
    else nodes.push(speech(whole))
    rest = rest.slice(match.index + whole.length)
  }
  nodes.push(...lines(rest))
  return nodes
}

function speech(quoted: string): Node {
  const element = document.createElement("q")
  element.className = "said"
  const closed = quoted.length > 1 && /["”»]$/u.test(quoted)
  const words = closed ? quoted.slice(1, -1) : quoted.slice(1)
  element.append(quoted.slice(0, 1), ...inline(words), closed ? quoted.slice(-1) : "")
  return element
}

function nest(tags: string[], content: Node[]): Node {
  return tags.reduceRight<Node[]>((inner, tag) => {
    const element = document.createElement(tag)
    element.append(...inner)
    return [element]
  }, content)[0] as Node
}

function lines(text: string): Node[] {
  return text.split("\n").flatMap((line, index) => {
    const node = document.createTextNode(line)
    return index === 0 ? [node] : [document.createElement("br"), node]
  })
}
