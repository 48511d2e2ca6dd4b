// Marks words in texts without changing the page: the browser paints them.

const NAME = "found"

/** Mark what was searched for in these elements, and nothing else. */
export function markWords(query: string, elements: Iterable<Element>): void {
  if (!("highlights" in CSS)) return
  const words = fold(query.replaceAll('"', " ")).text.split(/\s+/u).filter((word) => word !== "")
  const ranges = words.length === 0 ? [] : [...elements].flatMap((element) => rangesIn(element, words))
  if (ranges.length === 0) CSS.highlights.delete(NAME)
  else CSS.highlights.set(NAME, new Highlight(...ranges))
}

function rangesIn(element: Element, words: string[]): Range[] {
  const ranges: Range[] = []
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const { text, places } = fold(node.textContent ?? "")
    for (const word of words) {
      for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
        const range = new Range()
        range.setStart(node, places[at] ?? 0)
        range.setEnd(node, places[at + word.length] ?? (node.textContent ?? "").length)
        ranges.push(range)
      }
    }
  }
  return ranges
}

// Without case and accents, and where each letter was.
function fold(original: string): { text: string; places: number[] } {
  let text = ""
  const places: number[] = []
  let place = 0
  for (const letter of original) {
    const folded = letter.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase()
    for (let index = 0; index < folded.length; index++) places.push(place)
    text += folded
    place += letter.length
  }
  return { text, places }
}
