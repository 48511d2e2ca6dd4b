// How well a name fits what was typed: the letters must come in this order, and words and runs of letters count more.
// Undefined where they do not. The smaller, the better.
export function distance(typed: string, name: string): number | undefined {
  const wanted = fold(typed).replace(/\s+/gu, "")
  const text = fold(name)
  let cost = 0
  let at = -1
  for (const letter of wanted) {
    const next = nextPlace(text, letter, at)
    if (next < 0) return undefined
    const isNext = next === at + 1
    const beginsWord = next === 0 || /[\s\p{P}]/u.test(text[next - 1] ?? "")
    cost += isNext ? 0 : beginsWord ? 1 : 3 + Math.min(next - at, 10)
    at = next
  }
  return cost + text.length / 1000
}

// A letter that goes on where the last one was found is better than one at the beginning of a word, and that than any.
function nextPlace(text: string, letter: string, at: number): number {
  if (text.startsWith(letter, at + 1)) return at + 1
  for (let place = text.indexOf(letter, at + 1); place >= 0; place = text.indexOf(letter, place + 1)) {
    if (/[\s\p{P}]/u.test(text[place - 1] ?? "")) return place
  }
  return text.indexOf(letter, at + 1)
}

function fold(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase()
}
